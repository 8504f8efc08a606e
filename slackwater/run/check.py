"""Is a warehouse, or a backup of one, all that its catalog says? Found out without an engine, also while somebody writes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from slackwater.catalog import Catalog, Snapshot, Stream, View, reading_catalog, store_named
from slackwater.catalog.store_file import defects
from slackwater.errors import SlackwaterError
from slackwater.run.progress import FileDone, Listener, in_words
from slackwater.trace import Damaged, File, Files, folder_of, place_at


@dataclass(frozen=True)
class Report:
    """What was looked at, what is wrong with it, and what one may want to know."""

    files: int
    bytes: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def check(warehouse: str | os.PathLike[str], url: str | None, fast: bool, tell: Listener) -> Report:
    """Look at everything; when `fast`, at files only by their sizes. `url` is where the catalog is, if it is not in the folder."""
    place = place_at(warehouse)
    store = store_named(url, place)
    wrong = [] if store.shared else defects(folder_of(place, "a catalog"))  # a server sees to its own files
    if wrong:
        return Report(0, 0, tuple(f"the catalog is damaged: {defect}" for defect in wrong))
    try:
        with reading_catalog(store, place) as catalog:
            return _report(catalog, Files(place), fast, tell)
    except SlackwaterError as problem:
        if store.shared:  # perhaps it cannot be reached, which is no damage
            raise
        return Report(0, 0, (problem.message,))


def _report(catalog: Catalog, files: Files, fast: bool, tell: Listener) -> Report:
    snapshot = catalog.snapshot()
    named = snapshot.files
    size, seen, problems = sum(file.bytes for file in named), 0, []
    for number, file in enumerate(named, start=1):
        what = files.damage(file, deep=not fast) or (None if fast else files.footer_damage(file))
        # What was folded away meanwhile is named no longer.
        if what is not None and file in catalog.snapshot().files:
            problems.append(Damaged(file.path, what).message)
        seen += file.bytes
        tell(FileDone("checking", number, len(named), seen, size))
    problems += _lost_versions(snapshot)
    return Report(len(named), size, tuple(problems), tuple(_notes(files, catalog.snapshot(), named)))


def _lost_versions(snapshot: Snapshot) -> Iterator[str]:
    """Versions that paths and answers stand at, and that no batch ends at."""
    there = {name: {0, *(batch.version for batch in trace.batches)} for name, trace in snapshot.traces.items()}
    for path, sources in snapshot.cursors.items():
        for source, version in sources.items():
            if version not in there.get(source, set()) and not _has_passed(source, version, snapshot):
                yield f'path "{path}" has read "{source}" up to version {version}, which is not there'
    for table in snapshot.tables:
        if table.name.lower() not in there:
            yield f'table "{table.name}" has no trace'
    for view in snapshot.views:
        for name, version in _answers(view):
            if version not in there.get(name, set()) and not _has_passed(name, version, snapshot):
                yield f'view "{view.name}" answers as of version {version} of "{name}", which is not there'


def _has_passed(name: str, version: int, snapshot: Snapshot) -> bool:
    """Whether the rows of a stream that came up to a version have left."""
    batches = snapshot.traces[name].batches if name in snapshot.traces else ()
    return isinstance(snapshot.relations.get(name), Stream) and bool(batches) and version <= batches[0].version


def _answers(view: View) -> list[tuple[str, int]]:
    return [*view.answer.buffers.items(), *view.answer.as_of.items()] if view.answer is not None else []


def _notes(files: Files, snapshot: Snapshot, named: tuple[File, ...]) -> Iterator[str]:
    unchecked = sum(file.crc is None for file in named)
    if unchecked:
        yield f"{unchecked} files were written by a release that kept no checksums"
    orphans = files.orphans((trace.name, batch.step) for trace in snapshot.traces.values() for batch in trace.batches)
    waiting = [orphan for orphan in orphans if files.retired(orphan) is not None]
    if waiting:
        yield f"{len(waiting)} retired batches, {in_words(files.usage(waiting))}, wait until nobody can be reading them"
    if len(orphans) > len(waiting):
        left = [orphan for orphan in orphans if orphan not in waiting]
        yield f"{len(left)} batches, {in_words(files.usage(left))}, belong to steps under way or broken off; the next writer removes them"
