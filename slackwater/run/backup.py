"""Copies of a warehouse: `backup` while it is in use, `restore` to bring one back.

The files of a warehouse never change. So a copy of the catalog, as of one moment, and of the files that it names, is the warehouse as of
that moment. The files come first and the catalog last: until then the target is what it was. A later backup to the same target copies
what is new, and removes what is named no longer.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slackwater.catalog import reading_catalog, store_named
from slackwater.catalog.pairing import mark_of
from slackwater.catalog.store_file import FILE, copy_store, is_backup, mark, writer
from slackwater.errors import WarehouseError
from slackwater.run.progress import FileDone, Listener, in_words
from slackwater.trace import Damaged, File, Files, folder_of, place_at
from slackwater.trace.durable import MISSING, PIECE, sync

ATTEMPTS = 5  # a writer that folds faster than we copy would keep us for ever
INCOMING = "incoming"  # below the target: the catalog of the backup that is being made


@dataclass(frozen=True)
class Copied:
    """What a copy holds, and how much of that was not there before."""

    files: int
    bytes: int
    new_files: int
    new_bytes: int

    def __str__(self) -> str:
        return f"{self.files} files, {in_words(self.bytes)}, of which {self.new_files}, {in_words(self.new_bytes)}, were copied now"


def backup(warehouse: Path, target: Path, tell: Listener) -> Copied:
    """Copy a warehouse as it is now, whoever writes it meanwhile."""
    warehouse, target = folder_of(warehouse, "what is copied"), folder_of(target, "a backup")
    _refuse_shared(warehouse)
    _named(warehouse)  # it is there, and of our format
    _refuse_target(warehouse, target)
    with _problems_with(target), _alone(target / INCOMING) as incoming:
        for _ in range(ATTEMPTS):
            copy_store(warehouse, incoming)
            mark(incoming, backup=True)
            named = _named(incoming)
            copied = _copy(warehouse, target, named, tell)
            if copied is not None:
                copy_store(incoming, target)
                sync([target, target.parent])
                _remove_unnamed(target, named)
                return copied
    message = f"files were folded away faster than they could be copied, {ATTEMPTS} times"
    raise WarehouseError(message, hint="run it again: what is copied is kept")


def restore(source: Path, warehouse: Path, replace: bool, tell: Listener) -> Copied:
    """Make a warehouse of a backup. All of it is verified before anything takes the place of what is there."""
    source, warehouse = folder_of(source, "a backup"), folder_of(warehouse, "what is restored")
    _named(source)  # it is there, and of our format
    if not is_backup(source):
        raise WarehouseError(f"{source} is not a backup", hint="slackwater backup makes one")
    if warehouse.exists() and not (warehouse.is_dir() and (replace or not any(warehouse.iterdir()))):
        raise WarehouseError(f"{warehouse} is there already", hint="restore to another place, or give --replace to lose what is there")
    _refuse_shared(warehouse)
    if (who := writer(warehouse)) is not None:
        raise WarehouseError(f"{warehouse} is being written by {who}", hint="close that session first")
    new, old = (warehouse.with_name(f"{warehouse.name}.{state}") for state in ("restoring", "replaced"))
    with _problems_with(warehouse):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        copy_store(source, new)
        mark(new, backup=False)
        copied = _copy(source, new, _named(new), tell)
        if copied is None:
            raise WarehouseError(f"{source} was changed while it was copied", hint="wait until its backup is done, and run it again")
        sync([new])
        if warehouse.exists():
            shutil.rmtree(old, ignore_errors=True)
            warehouse.rename(old)
        new.rename(warehouse)
        sync([warehouse.parent])
        shutil.rmtree(old, ignore_errors=True)
    return copied


def _named(root: Path) -> tuple[File, ...]:
    with reading_catalog(store_named(None, root), root) as catalog:
        return catalog.snapshot().files


def _refuse_shared(root: Path) -> None:
    """Folder and schema would have to be of one moment."""
    if mark := mark_of(place_at(root)):
        raise WarehouseError(
            f"the catalog of the warehouse at {root} is on a server, {mark['store']}: backup and restore do not support that yet",
            hint="close the writer; pg_dump of the schema and a copy of the folder are then a copy of the warehouse",
        )


def _refuse_target(warehouse: Path, target: Path) -> None:
    if target == warehouse or warehouse in target.parents or target in warehouse.parents:
        raise WarehouseError(f"a backup of {warehouse} cannot be at {target}", hint="choose a folder elsewhere, best on another disk")
    if (target / FILE).exists():
        if not is_backup(target):
            raise WarehouseError(f"{target} is a warehouse, not a backup", hint="choose an empty folder, or one that holds a backup")
    elif target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / INCOMING).exists())):
        raise WarehouseError(f"{target} holds something else", hint="choose an empty folder, or one that holds a backup")


def _copy(source: Path, target: Path, named: tuple[File, ...], tell: Listener) -> Copied | None:
    """Copy the files that the target lacks; None if one of them was folded away meanwhile."""
    size, seen, new = sum(file.bytes for file in named), 0, []
    files = Files(target)
    for number, file in enumerate(named, start=1):
        # A copy gets its name when it is whole, and two files never have the same: the size says enough.
        if files.damage(file) is not None:
            try:
                _copy_file(source, target, file)
            except FileNotFoundError:
                if file in _named(source):
                    raise Damaged(file.path, MISSING) from None
                return None
            new.append(file)
        seen += file.bytes
        tell(FileDone("copying", number, len(named), seen, size))
    sync({above for file in new for above in (target / file.path).parents if above == target or target in above.parents})
    return Copied(len(named), size, len(new), sum(file.bytes for file in new))


def _copy_file(source: Path, target: Path, file: File) -> None:
    """Copy one file, seeing that it is what was written."""
    with open(source / file.path, "rb") as old:
        to = target / file.path
        to.parent.mkdir(parents=True, exist_ok=True)
        unfinished = to.with_name(f"{to.name}.copying")
        size = crc = 0
        with open(unfinished, "wb") as new:
            while piece := old.read(PIECE):
                new.write(piece)
                size, crc = size + len(piece), zlib.crc32(piece, crc)
            new.flush()
            os.fsync(new.fileno())
    if size != file.bytes or file.crc not in (None, crc):
        unfinished.unlink()
        what = f"has {size} bytes, {file.bytes} were written" if size != file.bytes else "is not what was written: its checksum differs"
        raise Damaged(file.path, what)
    unfinished.rename(to)


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


@contextmanager
def _problems_with(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise WarehouseError(f"cannot copy to {place}: {problem.strerror} ({problem.filename})") from problem
