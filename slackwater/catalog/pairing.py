"""A folder and a store that belong together.

To a catalog that is not its own, all files of a warehouse look like orphans. So when the store is outside of the folder, both carry the
same mark, given when both are empty, and a warehouse whose marks differ is not opened.

A folder that is filled by a restore is marked first, and says that it is not whole; the store is marked last, with all that is in it.
"""

from __future__ import annotations

import json
import uuid

from slackwater.catalog.catalog import Catalog
from slackwater.catalog.store import Statements
from slackwater.errors import WarehouseError
from slackwater.trace import Place
from slackwater.trace.unwritable import writing

MARK = "store.json"
UNFINISHED = "unfinished"  # in a mark: files are still to come


def mark_of(place: Place) -> dict[str, str]:
    """What a folder says of its store; nothing if that is inside, or if whoever wrote it was ended meanwhile."""
    try:
        mark: dict[str, str] = json.loads(b"".join(place.pieces(f"{place.name}/{MARK}")) or b"{}")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return mark


def check_pair(catalog: Catalog, place: Place, read_only: bool) -> None:
    """Refuse a folder that is not the store's. New ones become a pair."""
    if not catalog.store.shared:
        return
    known, mark = catalog.fact("warehouse"), mark_of(place)
    if known is not None and known == mark.get("warehouse"):
        if UNFINISHED in mark and not read_only:  # the restore was ended just when all was there
            finish(place)
        return
    root, store = place.name, catalog.store.place
    if mark and (known is not None or mark["store"] != store):
        raise WarehouseError(
            f"the warehouse at {root} has another store than {store}",
            hint=f"its catalog was made at {mark['store']}; a database has one warehouse per schema, named by ?schema=",
        )
    if known is not None:
        raise WarehouseError(
            f"the store at {store} has another warehouse than {root}",
            hint="check the folder, and that its disk is mounted; a database has one warehouse per schema, named by ?schema=",
        )
    if UNFINISHED in mark:
        raise WarehouseError(
            f"the warehouse at {root} is not restored yet", hint="wait until slackwater restore is done; if it broke off, run it again"
        )
    if read_only:
        raise WarehouseError(f"there is no warehouse at {root}", hint="open it without read_only to create one")
    if catalog.snapshot().relations or place.batches():
        raise WarehouseError(f"the warehouse at {root} and the store at {store} are not empty and not a pair", hint="use a new folder")
    id = mark.get("warehouse", uuid.uuid4().hex)
    # The folder first: a crash in between leaves a mark that names the store, and is made good by the next who comes.
    _mark(place, {"warehouse": id, "store": store})
    with catalog.store.writing() as db:
        note_pair(db, id)


def refuse_filled(catalog: Catalog) -> None:
    """Refuse a store in which there is a warehouse."""
    if catalog.fact("warehouse") is not None or catalog.snapshot().relations:
        raise WarehouseError(
            f"the store at {catalog.store.place} has a warehouse already",
            hint="restore to a new schema, named by ?schema=; a database has one warehouse per schema",
        )


def begin(catalog: Catalog, place: Place) -> str:
    """Mark an empty folder as one that is being filled, for a store that is empty too. The answer is what the store is to be marked with.

    A folder that was marked so, for this store, by somebody who did not finish, keeps its mark and what it has.
    """
    refuse_filled(catalog)
    store, mark = catalog.store.place, mark_of(place)
    if UNFINISHED not in mark or mark["store"] != store:
        own = f"{place.name}/{MARK}"  # also one that was being written when the process was ended
        if mark or any(not path.startswith(own) for path in place.below(place.name)):
            raise WarehouseError(f"{place.name} is not empty", hint="restore to a new folder")
        mark = {"warehouse": uuid.uuid4().hex, "store": store, UNFINISHED: "restore"}
        place.create()
        _mark(place, mark)
    return mark["warehouse"]


def finish(place: Place) -> None:
    """All that a folder was marked for is there."""
    _mark(place, {key: value for key, value in mark_of(place).items() if key != UNFINISHED})


def note_pair(db: Statements, id: str) -> None:
    """Mark the store, as part of a transaction."""
    db.execute("INSERT INTO meta VALUES ('warehouse', ?)", [id])


def _mark(place: Place, mark: dict[str, str]) -> None:
    with writing(place.name):
        place.replace(f"{place.name}/{MARK}", json.dumps(mark).encode())
