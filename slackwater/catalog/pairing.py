"""A folder and a store that belong together.

To a catalog that is not its own, all files of a warehouse look like orphans. So when the store is outside of the folder, both carry the
same mark, given when both are empty, and a warehouse whose marks differ is not opened.
"""

from __future__ import annotations

import json
import uuid

from slackwater.catalog.catalog import Catalog
from slackwater.errors import WarehouseError
from slackwater.trace import Place
from slackwater.trace.unwritable import writing

MARK = "store.json"


def mark_of(place: Place) -> dict[str, str]:
    """What a folder says of its store; nothing if that is inside, or if whoever wrote it was ended meanwhile."""
    try:
        mark: dict[str, str] = json.loads(b"".join(place.pieces(f"{place.name}/{MARK}")) or b"{}")
    except FileNotFoundError:
        return {}
    return mark


def check_pair(catalog: Catalog, place: Place, read_only: bool) -> None:
    """Refuse a folder that is not the store's. New ones become a pair."""
    if not catalog.store.shared:
        return
    known, mark = catalog.fact("warehouse"), mark_of(place)
    if known is not None and known == mark.get("warehouse"):
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
    if read_only:
        raise WarehouseError(f"there is no warehouse at {root}", hint="open it without read_only to create one")
    if catalog.snapshot().relations or place.batches():
        raise WarehouseError(f"the warehouse at {root} and the store at {store} are not empty and not a pair", hint="use a new folder")
    _pair(catalog, place, mark.get("warehouse", uuid.uuid4().hex))


def _pair(catalog: Catalog, place: Place, id: str) -> None:
    # The folder first: a crash in between leaves a mark that names the store, and is made good by the next who comes.
    with writing(place.name):
        place.replace(f"{place.name}/{MARK}", json.dumps({"warehouse": id, "store": catalog.store.place}).encode())
    with catalog.store.writing() as db:
        db.execute("INSERT INTO meta VALUES ('warehouse', ?)", [id])
