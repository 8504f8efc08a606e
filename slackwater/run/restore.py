"""A warehouse that is made of a backup. Every file is verified on the way, and nothing is a warehouse before all of it is there.

With its catalog in the folder: in a folder beside, which takes the place of the other in one step. With its catalog in PostgreSQL: the
folder says that it is not whole, the files come, and the transaction that brings the catalog makes it a warehouse. Who breaks off in
between leaves files that nothing names; the next attempt goes on with them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from slackwater.catalog import Catalog, Lease, Unsettled, store_named
from slackwater.catalog.pairing import begin, finish, mark_of, refuse_filled
from slackwater.catalog.store_file import copy_store, is_backup, mark, writer
from slackwater.catalog.transfer import move_in
from slackwater.errors import WarehouseError
from slackwater.run.copying import Copied, copy_files, files_named, problems_with
from slackwater.run.progress import Listener
from slackwater.trace import Files, Place, folder_of, place_at
from slackwater.trace.durable import sync

ANEW = "restore to a new folder and a new schema, --store postgresql://...?schema=name, and remove the old ones afterwards"


def restore(source: Path, warehouse: str | os.PathLike[str], url: str | None, replace: bool, tell: Listener) -> Copied:
    """Make a warehouse of a backup. `url` is where its catalog goes, if not into the folder."""
    source, place = folder_of(source, "a backup"), place_at(warehouse)
    files_named(None, source)  # it is there, and of our format
    if not is_backup(source):
        raise WarehouseError(f"{source} is not a backup", hint="slackwater backup makes one")
    with problems_with(place.name):
        if replace and (url is not None or mark_of(place)):
            # Folder and schema cannot be exchanged in one step.
            raise WarehouseError("a warehouse whose catalog is on a server cannot be replaced", hint=ANEW)
        return _to_folder(source, place, replace, tell) if url is None else _to_store(source, place, url, tell)


def _to_folder(source: Path, place: Place, replace: bool, tell: Listener) -> Copied:
    """All of it is verified before anything takes the place of what is there."""
    store_named(None, place)  # which may not be elsewhere
    warehouse = folder_of(place, "what is restored")
    if warehouse.exists() and not (warehouse.is_dir() and (replace or not any(warehouse.iterdir()))):
        raise WarehouseError(f"{warehouse} is there already", hint="restore to another place, or give --replace to lose what is there")
    if (who := writer(warehouse)) is not None:
        raise WarehouseError(f"{warehouse} is being written by {who}", hint="close that session first")
    new, old = (warehouse.with_name(f"{warehouse.name}.{state}") for state in ("restoring", "replaced"))
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    copy_store(store_named(None, source), new)
    mark(new, backup=False)
    copied = _copy(source, new, Files(new), tell)
    sync([new])
    if warehouse.exists():
        shutil.rmtree(old, ignore_errors=True)
        warehouse.rename(old)
    new.rename(warehouse)
    sync([warehouse.parent])
    shutil.rmtree(old, ignore_errors=True)
    return copied


def _to_store(source: Path, place: Place, url: str, tell: Listener) -> Copied:
    """The transaction that brings the catalog is the last thing that can fail."""
    with ExitStack() as undo:
        catalog_of_copy = Path(undo.enter_context(TemporaryDirectory()))
        store = undo.enter_context(closing(store_named(url, place)))
        catalog = Catalog(store)
        refuse_filled(catalog)
        lease = Lease(store)  # nobody else makes a warehouse of either meanwhile
        undo.callback(lease.release)
        id = begin(catalog, place)
        copy_store(store_named(None, source), catalog_of_copy)
        copied = _copy(source, catalog_of_copy, Files(place), tell)
        try:
            with closing(store_named(None, catalog_of_copy)) as rows:
                move_in(rows, store, lease, id)
        except Unsettled as problem:
            hint = "run it again: the warehouse is there already, or will be then"
            raise WarehouseError(problem.message, hint=hint) from problem
        with suppress(WarehouseError, OSError):  # it is a warehouse already, and the next writer sees to its mark
            finish(place)
    return copied


def _copy(source: Path, catalog: Path, target: Files, tell: Listener) -> Copied:
    """All files that a copy of the backup's catalog names. What a broken attempt has left counts only if it is sound."""
    copied = copy_files(Files(source), target, files_named(None, catalog), lambda: files_named(None, source), tell, deep=True)
    if copied is None:
        raise WarehouseError(f"{source} was changed while it was copied", hint="wait until its backup is done, and run it again")
    return copied
