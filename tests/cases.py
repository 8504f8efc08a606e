"""Case files: SQL behaviour written down as tables, views, changes, and what each change does to each view.

    # title: a late delete empties part of a group
    table orders(id int, region string, amount int)
    view totals: SELECT region, sum(amount) AS total FROM orders GROUP BY region
    step
      + 1 | EU | 10
      + 2 | EU | 5
    ----
      + EU | 15
    step
      - 1 | EU | 10
    ----
      - EU | 15
      + EU | 5

Tables and views come first; a view's text goes on in indented lines. A **step** changes any number of tables and then reads the views.

    + row           insert                      - row        delete one of the equal rows
    ~ row -> row    update                      -* row       delete all equal rows
    clear           delete everything

With several tables a change starts with its table's name (`orders + 1 | EU | 10`, `clear orders`), and with several views an expected
line with its view's. The first block starts from nothing, so it holds a view's whole answer. `step unread` reads nothing, so that
changes pile up; `step refresh totals` refreshes and reads only the named views.

Headers, each on a line of its own before the first table:

    # title: what the case shows
    # expect: full because <text>     the view is refreshed in full and says so (default: maintained incrementally)
    # error: <text>                   creating the last view fails with this message
    # ties: v by a, b                 v's LIMIT leaves a choice among equal a, b: the blocks hold these columns alone
    # sail: no recompute, <reason>    Sail cannot run the view's own text, so there only the blocks decide
    # sail: no, <reason>              Sail cannot run this case at all
    # spark: no, <reason>             not on the JVM

`python -m tests.cases --rewrite` computes every block anew, by running the views' texts over the tables' rows with nothing of slackwater
in between; `--check` only compares.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from tests.values import Row, arrow_type, read_row, write_row

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Table:
    """A table's name, its columns with their Spark types, and its primary key, if it has one."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()

    @cached_property
    def types(self) -> list[pa.DataType]:
        return [arrow_type(type_) for _, type_ in self.columns]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    @property
    def definition(self) -> str:
        parts = [f"{name} {type_}" for name, type_ in self.columns]
        return ", ".join(parts + ([f"primary key ({', '.join(self.key)})"] if self.key else []))


@dataclass(frozen=True)
class View:
    """A view's name and its query."""

    name: str
    text: str


@dataclass(frozen=True)
class Change:
    """One line of a step: `kind` is one of + - -* ~ clear; an update has a `new` row too."""

    table: str
    kind: str
    row: Row = ()
    new: Row = ()


@dataclass(frozen=True)
class Step:
    """Changes, the views that are read after them, and per view the lines of its block: sign and cells."""

    changes: tuple[Change, ...]
    reads: tuple[str, ...]
    blocks: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    refresh: bool = False


@dataclass(frozen=True)
class Case:
    """A whole case file."""

    headers: dict[str, str]
    tables: tuple[Table, ...]
    views: tuple[View, ...]
    steps: tuple[Step, ...]
    path: Path | None = None

    @property
    def title(self) -> str:
        return self.headers.get("title", "")

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def ties(self, view: str) -> tuple[str, ...]:
        """The columns that decide a view's LIMIT, when they leave a choice."""
        found = re.fullmatch(r"(\w+) by (.+)", self.headers.get("ties", ""))
        return tuple(name.strip() for name in found[2].split(",")) if found and found[1] == view else ()

    def allowed(self, engine: str) -> bool:
        """May this case run on the engine?"""
        return not re.match(r"no\b(?! recompute)", self.headers.get(engine, "yes"))

    @property
    def sail_recomputes(self) -> bool:
        return not self.headers.get("sail", "yes").startswith("no recompute")


def load(path: Path) -> Case:
    """Read a case file."""
    try:
        return replace(parse(path.read_text()), path=path)
    except (ValueError, KeyError, StopIteration, IndexError) as error:
        raise ValueError(f"{path}: {error}") from error


def all_cases(folder: Path = FOLDER) -> list[Case]:
    """Every case file, in the order of their names."""
    return [load(path) for path in sorted(folder.rglob("*.case"))]


def parse(text: str) -> Case:
    """The text of a case file as a case."""
    lines = [line.rstrip() for line in text.split("\n")]
    start = next((at for at, line in enumerate(lines) if line.split(" ")[0] == "step"), len(lines))
    headers, tables, views = _parse_definitions(lines[:start])
    return Case(headers, tables, views, tuple(_parse_steps(lines[start:], tables, views)))


def _parse_definitions(lines: list[str]) -> tuple[dict[str, str], tuple[Table, ...], tuple[View, ...]]:
    headers: dict[str, str] = {}
    tables: list[Table] = []
    views: list[View] = []
    for line in lines:
        if line.startswith("#"):
            name, _, value = line[1:].partition(":")
            headers[name.strip()] = value.strip()
        elif line.startswith("table "):
            tables.append(_parse_table(line))
        elif line.startswith("view "):
            name, _, query = line[5:].partition(":")
            views.append(View(name.strip(), query.strip()))
        elif line.startswith(" ") and views:
            views[-1] = View(views[-1].name, f"{views[-1].text}\n{line.strip()}".strip())
        elif line:
            raise ValueError(f"not a line of a case file: {line}")
    return headers, tuple(tables), tuple(views)


def _parse_table(line: str) -> Table:
    found = re.fullmatch(r"table (\w+)\s*\((.*)\)", line)
    if not found:
        raise ValueError(f"not a table: {line}")
    columns: list[tuple[str, str]] = []
    key: tuple[str, ...] = ()
    for part in _split_outside(found[2]):
        if part.lower().startswith("primary key"):
            key = tuple(name.strip() for name in part[part.index("(") + 1 : part.rindex(")")].split(","))
        else:
            name, _, type_ = part.partition(" ")
            columns.append((name, type_.strip()))
    return Table(found[1], tuple(columns), key)


def _split_outside(text: str) -> list[str]:
    """Split at the commas that are outside all brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _parse_steps(lines: list[str], tables: tuple[Table, ...], views: tuple[View, ...]) -> Iterator[Step]:
    at = 0
    while at < len(lines):
        if not lines[at]:
            at += 1
            continue
        words = lines[at].split()
        if words[0] != "step":
            raise ValueError(f"expected a step: {lines[at]}")
        body = []
        at += 1
        while at < len(lines) and not lines[at].startswith("step"):
            body.append(lines[at].strip())
            at += 1
        yield _parse_step(words[1:], [line for line in body if line], tables, views)


def _parse_step(words: list[str], body: list[str], tables: tuple[Table, ...], views: tuple[View, ...]) -> Step:
    rule = body.index("----") if "----" in body else len(body)
    changes = tuple(_parse_change(line, tables) for line in body[:rule])
    reads = tuple(view.name for view in views)
    if words:
        if words[0] not in ("unread", "refresh"):
            raise ValueError(f"a step cannot be {words[0]}")
        reads = tuple(word.rstrip(",") for word in words[1:])
    blocks: dict[str, tuple[tuple[str, str], ...]] = dict.fromkeys(reads, ())
    for line in body[rule + 1 :]:
        name, sign, cells = _parse_line(line, reads)
        blocks[name] += ((sign, cells),)
    return Step(changes, reads, blocks, refresh=words[:1] == ["refresh"])


def _parse_line(line: str, names: tuple[str, ...]) -> tuple[str, str, str]:
    found = re.fullmatch(r"(?:(\w+) )?\s*(\+|-\*|-|~) ?(.*)", line)
    if not found:
        raise ValueError(f"not a change: {line}")
    if found[1] is None and len(names) > 1:
        raise ValueError(f"which of {', '.join(names)}? {line}")
    return found[1] or names[0], found[2], found[3].strip()


def _parse_change(line: str, tables: tuple[Table, ...]) -> Change:
    if line.split()[0] == "clear":
        return Change((line.split() + [tables[0].name])[1], "clear")
    name, kind, cells = _parse_line(line, tuple(table.name for table in tables))
    types = next(table for table in tables if table.name == name).types
    if kind == "~":
        old, _, new = cells.partition(" -> ")
        return Change(name, kind, read_row(old, types), read_row(new, types))
    return Change(name, kind, read_row(cells, types))


def write(case: Case) -> str:
    """A case as the text of a case file."""
    lines = [f"# {name}: {value}" for name, value in case.headers.items()]
    lines += [f"table {table.name}({table.definition})" for table in case.tables]
    for view in case.views:
        first, *rest = view.text.split("\n")
        lines += [f"view {view.name}: {first}".rstrip(), *(f"  {line}" for line in rest)]
    for step in case.steps:
        lines += _write_step(step, case)
    return "\n".join(lines) + "\n"


def _write_step(step: Step, case: Case) -> Iterator[str]:
    everything = len(step.reads) == len(case.views) and not step.refresh
    yield "step" if everything else f"step refresh {' '.join(step.reads)}" if step.reads else "step unread"
    for change in step.changes:
        yield f"  {_write_change(change, case)}"
    if step.reads:
        yield "----"
    for name in step.reads:
        prefix = f"{name} " if len(step.reads) > 1 else ""
        for sign, cells in step.blocks.get(name, ()):
            yield f"  {prefix}{sign} {cells}".rstrip()


def _write_change(change: Change, case: Case) -> str:
    many = len(case.tables) > 1
    if change.kind == "clear":
        return f"clear {change.table}" if many else "clear"
    types = case.table(change.table).types
    text = f"{change.table} " if many else ""
    text += f"{change.kind} {write_row(change.row, types)}"
    return f"{text} -> {write_row(change.new, types)}" if change.kind == "~" else text


def main(arguments: Iterable[str] | None = None) -> int:
    """Rewrite or check the expected blocks from the batch side."""
    from tests.batch import Batch, open_engine

    options = argparse.ArgumentParser(description="rewrite or check the expected blocks of case files")
    options.add_argument("--rewrite", action="store_true", help="write what the engine computes")
    options.add_argument("--check", action="store_true", help="compare only; this is the default")
    options.add_argument("--engine", default="spark", choices=["spark", "sail"], help="who computes (Spark has the last word)")
    options.add_argument("paths", nargs="*", type=Path, help="case files or folders (default: all)")
    chosen = options.parse_args(list(arguments) if arguments is not None else None)
    paths = sorted(file for path in chosen.paths or [FOLDER] for file in (path.rglob("*.case") if path.is_dir() else [path]))
    cases = [load(path) for path in paths]
    wrong = 0
    with open_engine(chosen.engine) as spark:
        for case in cases:
            wrong += _renew(case, Batch(spark, chosen.engine), chosen.rewrite)
    print(f"{len(paths)} case files, {wrong} {'rewritten' if chosen.rewrite else 'wrong'}")
    return 1 if wrong and not chosen.rewrite else 0


def _renew(case: Case, batch: object, rewrite: bool) -> bool:
    """Compute a case's blocks anew; was there something to change?"""
    from tests.batch import Batch

    assert isinstance(batch, Batch) and case.path is not None
    if "error" in case.headers or not case.allowed(batch.engine) or (batch.engine == "sail" and not case.sail_recomputes):
        return False
    try:
        text = write(batch.answer(case))
    except Exception as error:
        print(f"{case.path}: {str(error).strip().splitlines()[0][:300]}")
        return True
    if text == case.path.read_text():
        return False
    print(f"{case.path}: {'rewritten' if rewrite else 'differs'}")
    if rewrite:
        case.path.write_text(text)
    else:
        _print_difference(case.path.read_text(), text)
    return True


def _print_difference(old: str, new: str) -> None:
    import difflib

    for line in difflib.unified_diff(old.split("\n"), new.split("\n"), "file", "engine", lineterm="", n=1):
        print("    " + line)


if __name__ == "__main__":
    sys.exit(main())
