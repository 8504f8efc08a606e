"""A folder and a store that belong together.

To a catalog that is not its own, all files of a warehouse look like orphans. So when the store is outside of the folder, both carry the
same mark, given when both are empty, and a warehouse whose marks differ is not opened.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from slackwater.catalog.catalog import Catalog
from slackwater.errors import WarehouseError
from slackwater.trace.unwritable import writing

MARK = "store.json"


def mark_of(root: Path) -> dict[str, str]:
    """What a folder says of its store; nothing if that is inside."""
    try:
        mark: dict[str, str] = json.loads((root / MARK).read_text())
    except FileNotFoundError:
        return {}
    return mark


def check_pair(catalog: Catalog, root: Path, read_only: bool) -> None:
    """Refuse a folder that is not the store's. New ones become a pair."""
    if not catalog.store.shared:
        return
    known, mark = catalog.fact("warehouse"), mark_of(root)
    if known is not None and known == mark.get("warehouse"):
        return
    place = catalog.store.place
    if mark and (known is not None or mark["store"] != place):
        raise WarehouseError(
            f"the warehouse at {root} has another store than {place}",
            hint=f"its catalog was made at {mark['store']}; a database has one warehouse per schema, named by ?schema=",
        )
    if known is not None:
        raise WarehouseError(
            f"the store at {place} has another warehouse than {root}",
            hint="check the folder, and that its disk is mounted; a database has one warehouse per schema, named by ?schema=",
        )
    if read_only:
        raise WarehouseError(f"there is no warehouse at {root}", hint="open it without read_only to create one")
    if catalog.snapshot().relations or any((root / "traces").iterdir()):
        raise WarehouseError(f"the warehouse at {root} and the store at {place} are not empty and not a pair", hint="use a new folder")
    _pair(catalog, root, mark.get("warehouse", uuid.uuid4().hex))


def _pair(catalog: Catalog, root: Path, id: str) -> None:
    # The folder first: a crash in between leaves a mark that names the store, and is made good by the next who comes.
    new = root / f"{MARK}.new"
    with writing(root):
        with open(new, "w") as file:
            json.dump({"warehouse": id, "store": catalog.store.place}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, root / MARK)
    with catalog.store.writing() as db:
        db.execute("INSERT INTO meta VALUES ('warehouse', ?)", [id])
