"""Run a case on a warehouse: apply each step, read the views, and ask two judges.

The case's own blocks say what each step does to each view. The oracle says that the view is what the same engine computes from scratch over
the tables as they are. Under the schedule `random` the views are created after the first step, so that both ways of coming to life are
covered: over empty tables, and over tables with rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import pyarrow as pa

from slackwater import Session
from slackwater.errors import SlackwaterError
from tests.batch import Contents, block, visible
from tests.cases import Case, Change, Step, Table, View
from tests.oracle import check_equal, check_rows, check_top, without_limit
from tests.values import Row, arrow_table, read_row, rows_of, sql_literal


class Run:
    """One case on one warehouse."""

    def __init__(self, case: Case, db: Session, *, recompute: bool = True, late: bool = False) -> None:
        self.case = case
        self.db = db
        self.recompute = recompute
        self.late = late
        self.contents = Contents(case.tables)
        self.shown: dict[str, list[Row]] = {view.name: [] for view in case.views}

    def run(self) -> None:
        """Do everything the case says; an AssertionError tells what went wrong and where."""
        for table in self.case.tables:
            self.db.sql(f"CREATE TABLE {table.name} ({table.definition})")
        if "error" in self.case.headers:
            self._expect_refusal()
            return
        if not self.late:
            self.create_views()
        for number, step in enumerate(self.case.steps, start=1):
            self.apply(step.changes)
            if number == 1 and self.late:
                self.create_views()
            self._read(step, f"step {number}")

    def create_views(self) -> None:
        """Create the views, and see that they are kept as the case says."""
        expected = self.case.headers.get("expect", "incremental")
        for view in self.case.views:
            message = self.create(view)
            if expected == "incremental":
                assert ": incremental" in message, f"view {view.name} is not incremental: {message}"
        if expected != "incremental":
            reason = expected.removeprefix("full because").strip()
            assert "full" in message and reason in message, f"expected {expected}, got: {message}"

    def create(self, view: View) -> str:
        return str(self.db.sql(f"CREATE MATERIALIZED VIEW {view.name} AS {view.text}").message)

    def _expect_refusal(self) -> None:
        for view in self.case.views[:-1]:
            self.create(view)
        try:
            message = self.create(self.case.views[-1])
        except SlackwaterError as error:
            assert self.case.headers["error"] in str(error), f"expected an error with {self.case.headers['error']!r}, got: {error}"
        else:
            raise AssertionError(f"expected an error with {self.case.headers['error']!r}, but: {message}")

    def apply(self, changes: Sequence[Change]) -> None:
        """Change the tables; neighbouring changes of one kind go together."""
        for (name, kind), group in groupby(changes, key=lambda change: (change.table, change.kind)):
            table, listed = self.case.table(name), list(group)
            if kind == "+":
                self._insert(table, [change.row for change in listed])
            elif kind == "clear":
                self.db.sql(f"DELETE FROM {name}")
            elif kind == "~":
                for change in listed:
                    self._update(table, change)
                    self.contents.apply(change)
                continue
            for change in listed:
                self.contents.apply(change)
            if kind in ("-", "-*"):
                self._delete(table, {change.row for change in listed})

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            self.db.insert(table.name, arrow_table(rows, table.names, table.types))

    def _delete(self, table: Table, rows: set[Row]) -> None:
        """A DELETE takes all equal rows, so those that the case keeps come back in the same step."""
        self.db.sql(f"DELETE FROM {table.name} WHERE {' OR '.join(sorted(_is(table, row) for row in rows))}")
        self._insert(table, [row for row in rows for _ in range(self.contents.rows[table.name][row])])

    def _update(self, table: Table, change: Change) -> None:
        others = self.contents.rows[table.name][change.row] - 1
        if others == 0:
            values = zip(table.columns, change.new, strict=True)
            settings = ", ".join(f"{name} = {sql_literal(value, type_)}" for (name, type_), value in values)
            self.db.sql(f"UPDATE {table.name} SET {settings} WHERE {_is(table, change.row)}")
        else:
            self.db.sql(f"DELETE FROM {table.name} WHERE {_is(table, change.row)}")
            self._insert(table, [change.row] * others + [change.new])

    def _read(self, step: Step, place: str) -> None:
        if step.refresh:
            for name in step.reads:
                self.db.sql(f"REFRESH VIEW {name}")
        for name in step.reads:
            try:
                self.check(name, step, f"{place}, view {name}")
            except AssertionError:
                # A view whose refresh fails keeps its last answer; only an explicit refresh says so.
                self.db.sql(f"REFRESH VIEW {name}")
                raise

    def check(self, name: str, step: Step, place: str) -> None:
        """Hold a view's answer against the case's block and against a recomputation."""
        answer = self.db.sql(f"SELECT * FROM {name}").to_arrow()
        if self.recompute:
            self.ask_oracle(name, answer, f"{place}: not what recomputing gives")
        seen = visible(answer, self.case.ties(name))
        now = rows_of(seen)
        _check_block(block(self.shown[name], now, seen.schema.types), step.blocks[name], seen.schema.types, place)
        self.shown[name] = now

    def ask_oracle(self, name: str, answer: pa.Table, what: str) -> None:
        """The view must be what its text gives over the tables as they are."""
        self.compare(name, answer, self.db.recompute(name).to_arrow(), what)

    def compare(self, name: str, answer: pa.Table, batch: pa.Table, what: str) -> None:
        """Compare a view's answer with a recomputation, leaving open only what its text leaves open."""
        ties = self.case.ties(name)
        if not ties:
            check_equal(answer, batch, what)
            return
        text = next(view.text for view in self.case.views if view.name == name)
        unlimited = rows_of(self.db.sql(without_limit(text)).to_arrow())
        check_top(rows_of(answer), rows_of(batch), unlimited, [answer.column_names.index(key) for key in ties], answer.schema.types, what)


def _is(table: Table, row: Row) -> str:
    """A condition that is true for rows equal to this one. Maps cannot be compared: with them, other columns must tell rows apart."""
    tests = [
        f"{name} <=> {sql_literal(value, type_)}" for (name, type_), value in zip(table.columns, row, strict=True) if "map<" not in type_
    ]
    return f"({' AND '.join(tests)})"


def _check_block(actual: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]], types: Sequence[pa.DataType], place: str) -> None:
    """Compare two blocks, each sign for itself, so that floating-point numbers need not be written to the last digit."""
    for sign, word in (("-", "leave"), ("+", "come")):
        have = [read_row(cells, types) for each, cells in actual if each == sign]
        want = [read_row(cells, types) for each, cells in expected if each == sign]
        check_rows(have, want, types, f"{place}: the rows that {word} are not those of the case file")


def run_case(case: Case, db: Session, engine: str, late: bool = False, judge: bool = True) -> None:
    """Run a case, and name its file and title when it fails."""
    recompute = judge and (engine != "sail" or case.sail_recomputes)
    try:
        Run(case, db, recompute=recompute, late=late).run()
    except (AssertionError, SlackwaterError) as error:
        raise AssertionError(f"{case.path or 'case'} ({case.title})\n{error}") from error


def at_the_end(case: Case) -> Case:
    """The same case read only twice: after its first step and after its last. For schedules whose flushes are what is tried."""
    if len(case.steps) < 3 or any(step.reads != tuple(view.name for view in case.views) for step in case.steps):
        return case
    unread = [Step(step.changes, ()) for step in case.steps[1:-1]]
    last = Step(case.steps[-1].changes, case.steps[-1].reads, _summed(case, case.steps[1:]))
    return replace(case, steps=(case.steps[0], *unread, last))


def in_two_steps(case: Case) -> Case:
    """The same case as a load and one change of everything that changed later, read once. For engines where every statement is dear."""
    reads = tuple(view.name for view in case.views)
    if len(case.steps) < 2:
        return case
    contents = Contents(case.tables)
    for change in case.steps[0].changes:
        contents.apply(change)
    before = {name: rows.copy() for name, rows in contents.rows.items()}
    for step in case.steps[1:]:
        for change in step.changes:
            contents.apply(change)
    changes = [change for table in case.tables for change in _between(table.name, before[table.name], contents.rows[table.name])]
    return replace(case, steps=(Step(case.steps[0].changes, ()), Step(tuple(changes), reads, _summed(case, case.steps))))


def _between(table: str, before: Counter[Row], after: Counter[Row]) -> list[Change]:
    """What leads from one content of a table to another."""
    gone = [Change(table, "-", row) for row in (before - after).elements()]
    return gone + [Change(table, "+", row) for row in (after - before).elements()]


def _summed(case: Case, steps: Sequence[Step]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Blocks that hold what several steps did together."""
    return {view.name: _net(line for step in steps for line in step.blocks.get(view.name, ())) for view in case.views}


def _net(lines: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    counts: dict[str, int] = {}
    for sign, cells in lines:
        counts[cells] = counts.get(cells, 0) + (1 if sign == "+" else -1)
    gone = [("-", cells) for cells, count in sorted(counts.items()) for _ in range(-count)]
    return tuple(gone + [("+", cells) for cells, count in sorted(counts.items()) for _ in range(count)])


__all__ = ["Run", "at_the_end", "in_two_steps", "run_case"]
