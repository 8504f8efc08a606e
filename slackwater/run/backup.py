"""A copy of a warehouse that is made while it is in use: of one on a disk, in S3 or HDFS, its catalog in SQLite or in PostgreSQL.

The files of a warehouse never change. So a copy of the catalog, as of one moment, and of the files that it names, is the warehouse as of
that moment. A backup has both in one folder. The files come first and the catalog last: until then the target is what it was. A later
backup to the same target copies what is new, and removes what is named no longer.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from slackwater.catalog import store_named
from slackwater.catalog.store_file import FILE, copy_store, is_backup, mark, put_store
from slackwater.errors import WarehouseError
from slackwater.run.copying import Copied, copy_files, files_named, problems_with
from slackwater.run.progress import Listener
from slackwater.trace import File, Files, Place, folder_of, place_at
from slackwater.trace.disk import Disk
from slackwater.trace.durable import sync

ATTEMPTS = 5  # a writer that folds faster than we copy would keep us for ever
INCOMING = "incoming"  # below the target: the catalog of the backup that is being made


def backup(warehouse: str | os.PathLike[str], url: str | None, target: Path, tell: Listener) -> Copied:
    """Copy a warehouse as it is now, whoever writes it meanwhile. `url` is where its catalog is, if it is not in the folder."""
    place, target = place_at(warehouse), folder_of(target, "a backup")
    files_named(url, place)  # it is there
    _refuse_target(place, target)
    with problems_with(target), _alone(target / INCOMING) as incoming:
        for _ in range(ATTEMPTS):
            with closing(store_named(url, place)) as store:
                copy_store(store, incoming)
            mark(incoming, backup=True)
            named = files_named(None, incoming)
            copied = copy_files(Files(place), Files(target), named, lambda: files_named(url, place), tell)
            if copied is not None:
                put_store(incoming, target)
                sync([target, target.parent])
                _remove_unnamed(target, named)
                return copied
    message = f"files were folded away faster than they could be copied, {ATTEMPTS} times"
    raise WarehouseError(message, hint="run it again: what is copied is kept")


def _refuse_target(place: Place, target: Path) -> None:
    if isinstance(place, Disk) and (target == place.root or place.root in target.parents or target in place.root.parents):
        raise WarehouseError(f"a backup of {place.name} cannot be at {target}", hint="choose a folder elsewhere, best on another disk")
    if (target / FILE).exists():
        if not is_backup(target) and not (target / INCOMING).exists():
            raise WarehouseError(f"{target} is a warehouse, not a backup", hint="choose an empty folder, or one that holds a backup")
    elif target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / INCOMING).exists())):
        raise WarehouseError(f"{target} holds something else", hint="choose an empty folder, or one that holds a backup")


def _remove_unnamed(target: Path, named: Iterable[File]) -> None:
    keep = {target / file.path for file in named}
    for folder, _, names in os.walk(target / "traces", topdown=False):
        for name in names:
            if Path(folder, name) not in keep:
                Path(folder, name).unlink()
        if not any(Path(folder).iterdir()):
            Path(folder).rmdir()


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """A folder that only one process works in, and that is gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        raise WarehouseError(f"another backup to {folder.parent} is under way", hint="wait until it is done") from None
    finally:
        os.close(lock)
