"""The front door. Every method hands on to one function."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from slackwater import explain
from slackwater.catalog import store_named
from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.result import Result
from slackwater.run import definitions, describe, samples, tables, views
from slackwater.run.answer import Answers, answer, answered_again, computed, staleness
from slackwater.run.change import Changed
from slackwater.run.choice import chooser_named
from slackwater.run.folding import fold_when, folding_named
from slackwater.run.loop import Running
from slackwater.run.merge import merge
from slackwater.run.progress import Listener, Working
from slackwater.run.reading import recompute
from slackwater.run.refresh import refresh, refresh_on_read
from slackwater.run.schedule import Schedule, schedule_named
from slackwater.run.streams import wait_until_quiet
from slackwater.run.vacuum import vacuum
from slackwater.run.warehouse import Warehouse
from slackwater.spark import start
from slackwater.sql import kinds, parse, substitute
from slackwater.sql.bind import bind
from slackwater.trace import place_at


def connect(
    warehouse: str | os.PathLike[str] = "./warehouse",
    *,
    engine: Any = "spark",
    schedule: str | Schedule = "lazy",
    read_only: bool = False,
    store: str | None = None,
    wait: float = 0.0,
    choose: str | None = None,
    folding: str = "background",
    beside: str | None = None,
) -> Session:
    """Open a warehouse, creating it if it is not there.

    engine      "spark" (in this process), "sail", a master such as "local[2]", a Connect URL "sc://host:port", or a SparkSession
    schedule    which paths are flushed right after a change: "lazy" (none until a refresh or a read), "eager" (all), "random"
    read_only   read beside the one process that writes
    store       where the catalog is: a file in the warehouse, or "postgresql://user@host:port/database" to share it
    wait        seconds to wait for another process that writes to leave, or to die
    choose      how a path is flushed: by "cost" (incrementally, or in full where that is expected to be cheaper), or always "incremental"
    folding     when small batches become larger ones: in the "background", at the end of each "refresh", or "off", only by VACUUM
    beside      who runs flushes that fit on this machine beside Spark: "sail", where both agree to the last digit (the default on a Spark
                that is started here), or "none" (the default otherwise)
    """
    chooser = chooser_named(choose or os.environ.get("SLACKWATER_CHOOSE", "cost"))
    chosen = schedule_named(schedule)
    folds = folding_named(folding)
    place = place_at(warehouse)
    catalog = store_named(store, place)
    running = start(engine, beside or os.environ.get("SLACKWATER_BESIDE"))
    try:
        opened = Warehouse(place, catalog, running, chosen, read_only, wait, chooser)
        fold_when(folds, opened)
        return Session(opened)
    except BaseException:
        running.stop()
        raise


class Session:
    """A warehouse that is open. Use it as a context manager, or call `close`."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._answers = Answers()
        self._closed = False

    def sql(self, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> Result:
        """Run one statement."""
        self._check_open()
        if params is None and (again := answered_again(text, self._warehouse, self._answers)) is not None:
            return again
        try:
            text = substitute(text, params)
            statement = parse(text)
            return HANDLERS[type(statement)](self, statement)
        except SlackwaterError as problem:
            raise problem.within(text) from problem.__cause__

    def insert(self, table: str, data: Any) -> Result:
        """Insert rows: tuples, dicts, pandas, Arrow, iterators of rows or of Arrow batches, or a Spark DataFrame."""
        self._check_open()
        return Result.of_message(_counted(tables.insert_rows(table, data, self._warehouse), "inserted"))

    def recompute(self, view: str) -> Result:
        """The view's text, computed from scratch over the tables as they are."""
        self._check_open()
        snapshot = self._warehouse.catalog.snapshot()
        return computed(recompute(snapshot.view(view), snapshot, self._warehouse), self._warehouse.engine)

    def running(self) -> Running:
        """Answer views when their triggers are due, for as long as the context lasts: `with db.running(): ...`"""
        self._check_open()
        self._warehouse.check_writable()
        return Running(self._warehouse)

    def on_progress(self, listener: Listener) -> None:
        """Be told of what is going on."""
        self._warehouse.listeners.append(listener)

    @property
    def schedule(self) -> Schedule:
        return self._warehouse.schedule

    @schedule.setter
    def schedule(self, schedule: str | Schedule) -> None:
        self._warehouse.schedule = schedule_named(schedule)

    @property
    def spark(self) -> Any:
        """The engine's own session."""
        return self._warehouse.engine.shared()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._warehouse.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _select(self, statement: kinds.Select) -> Result:
        wait_until_quiet(statement.query, self._warehouse)
        refresh_on_read(statement.query, self._warehouse, staleness(statement))
        snapshot = self._warehouse.catalog.snapshot()
        self._warehouse.tell(Working("answering"))
        try:
            return answer(statement.text, statement.query, snapshot, self._warehouse, self._answers)
        except QueryError:
            # Our binder knows the user's text and says more of a wrong name than the engine does; what it accepts fails as the engine says.
            with contextlib.suppress(Unsupported):
                bind(str(statement.query), snapshot, self._warehouse.engine)
            raise

    def _refresh(self, statement: kinds.Refresh) -> Result:
        snapshot = self._warehouse.catalog.snapshot()
        names = [views.awake(snapshot.view(statement.name)).name] if statement.name is not None else []
        names = names or [view.name for view in snapshot.views if not view.suspended]
        done = refresh(names, self._warehouse, statement.text)
        failed = [each for each in done if each.error is not None]
        if failed and (statement.name is not None or len(failed) == len(done)):
            raise QueryError(str(failed[-1]), hint="DESCRIBE HISTORY has the details; it goes on when the row is gone")
        return Result.of_message("\n".join(str(each) for each in done) or "there are no views")

    def _check_open(self) -> None:
        if self._closed:
            raise QueryError("this session is closed", hint="connect again")


def _counted(changed: Changed, verb: str) -> str:
    count = max(changed.added, changed.removed)
    return f"{count} row{'' if count == 1 else 's'} {verb}"


def _merged(changed: Changed) -> str:
    return f"{changed.added} rows added, {changed.removed} removed"


Handler = Callable[[Session, Any], Result]

HANDLERS: Mapping[type, Handler] = {
    kinds.Select: Session._select,
    kinds.Refresh: Session._refresh,
    kinds.CreateTable: lambda db, s: Result.of_message(definitions.create_table(s, db._warehouse)),
    kinds.CreateStream: lambda db, s: Result.of_message(definitions.create_stream(s, db._warehouse)),
    kinds.CreateSample: lambda db, s: Result.of_message(samples.create_sample(s, db._warehouse)),
    kinds.CreateView: lambda db, s: Result.of_message(views.create_view(s, db._warehouse)),
    kinds.AlterView: lambda db, s: Result.of_message(views.alter_view(s, db._warehouse)),
    kinds.Mark: lambda db, s: Result.of_message(definitions.mark(s, db._warehouse)),
    kinds.Drop: lambda db, s: Result.of_message(definitions.drop(s, db._warehouse)),
    kinds.Insert: lambda db, s: Result.of_message(_counted(tables.insert(s, db._warehouse), "inserted")),
    kinds.Update: lambda db, s: Result.of_message(_counted(tables.update(s, db._warehouse), "updated")),
    kinds.Delete: lambda db, s: Result.of_message(_counted(tables.delete(s, db._warehouse), "deleted")),
    kinds.Merge: lambda db, s: Result.of_message(_merged(merge(s, db._warehouse))),
    kinds.Copy: lambda db, s: Result.of_message(_counted(tables.copy(s, db._warehouse), "copied")),
    kinds.Vacuum: lambda db, s: Result.of_message(vacuum(db._warehouse)),
    kinds.Show: lambda db, s: describe.show(s, db._warehouse),
    kinds.Describe: lambda db, s: describe.describe(s, db._warehouse),
    kinds.Explain: lambda db, s: explain.explain(s, db._warehouse),
}

__all__ = ["Result", "Session", "connect"]
