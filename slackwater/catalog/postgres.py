"""The catalog as a schema of a PostgreSQL database, for warehouses that several machines share.

A transaction names its schema itself and nothing is kept in the server's session, so a pooler such as pgbouncer may stand in between. Those
that write take one lock, which the server gives up with the transaction, whatever becomes of the process that asked for it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict

from slackwater.catalog.store import Rows, Statements, Unsettled
from slackwater.errors import WarehouseError

SCHEMA = "slackwater"  # unless the URL says ?schema=

# A server that does not answer must not hold up a session for hours. What the URL says comes first.
CONNECTING = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "slackwater",
}

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path TO {schema}"
# The lock of a machine that is gone in the middle of a transaction is free before those who wait for it give up.
WRITE = """BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL search_path TO {schema};
SET LOCAL idle_in_transaction_session_timeout = '20s'; SET LOCAL lock_timeout = '30s';
SELECT pg_advisory_xact_lock(hashtext('slackwater'), hashtext({name}))"""


class Postgres:
    """A store on a server: postgresql://user@host:port/database?schema=name"""

    shared = True
    now = "extract(epoch FROM clock_timestamp())::double precision"

    def __init__(self, url: str) -> None:
        self._options, self._schema = _read(url)
        self.place = f"{_server(self._options)} (schema {self._schema})"
        names = {"schema": sql.Identifier(self._schema), "name": sql.Literal(self._schema)}
        self._read, self._write = sql.SQL(READ).format(**names), sql.SQL(WRITE).format(**names)
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None

    def exists(self) -> bool:
        with self.reading() as db:
            found = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = ? AND tablename = 'meta'", [self._schema]).fetchone()
        return bool(found[0])

    def create(self, schema: str) -> None:
        with self.writing() as db:
            # Asked first: who may write to a schema may not be allowed to make one.
            if db.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", [self._schema]).fetchone() is None:
                db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)).as_string())
            db.execute(schema.format(number="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", by_key=""))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._begun(self._read) as connection:
            yield Transaction(connection)
            connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._begun(self._write) as connection:
            yield Transaction(connection)
            try:
                connection.execute("COMMIT")
            except psycopg.Error as problem:
                raise Unsettled(f"lost the store at {self.place} while it was to commit: {_first_line(problem)}") from problem

    def fill(self, db: Statements, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        values = f"OVERRIDING SYSTEM VALUE VALUES ({', '.join('?' * len(columns))})"
        db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) {values}", rows)
        # What counts up does not notice numbers that it has not given out.
        counted = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attidentity <> ''"
        for (column,) in db.execute(counted, [table]).fetchall():
            largest = f"(SELECT max({column}) FROM {table})"
            db.execute(f"SELECT setval(pg_get_serial_sequence(?, ?), {largest})", [table, column])

    def vacuum(self) -> None:
        """The server does that by itself."""

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _begun(self, begin: sql.Composed) -> Iterator[psycopg.Connection[Any]]:
        """A transaction, for one thread at a time. What does not end well ends its connection too: the server then rolls back."""
        with self._lock:
            try:
                yield self._begin(begin)
            except psycopg.Error as problem:
                lost = self._connection is None or self._connection.closed
                self.close()
                if not lost:
                    raise WarehouseError(f"the store at {self.place} refuses: {_first_line(problem)}") from problem
                raise WarehouseError(
                    f"lost the store at {self.place}: {_first_line(problem)}",
                    hint="nothing was changed; run the statement again when the server is back",
                ) from problem
            except BaseException:
                self.close()
                raise

    def _begin(self, begin: sql.Composed) -> psycopg.Connection[Any]:
        if self._connection is not None:
            # The server would only warn, and the inner one commit the outer.
            assert self._connection.info.transaction_status is not pq.TransactionStatus.INTRANS, "transactions do not nest"
            try:
                self._connection.execute(begin)
                return self._connection
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                # Lost since it was last used, as when the server was started anew: nothing has begun, so another will do.
        self._connection = self._connect()
        self._connection.execute(begin)
        return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            # Statements are not prepared: a pooler may run the next one on another connection.
            return psycopg.connect(**self._options, autocommit=True, prepare_threshold=None)
        except psycopg.Error as problem:
            raise WarehouseError(
                f"cannot reach the store at {self.place}: {_first_line(problem)}",
                hint="check the address, and that the server is running; a session that is open goes on when it is",
            ) from problem


class Transaction:
    """Statements with `?` for a value, as SQLite has them."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, text: str, values: Sequence[Any] = (), /) -> Rows:
        return self._connection.execute(_with_marks(text), values or None)

    def executemany(self, text: str, values: Iterable[Sequence[Any]], /) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_with_marks(text), list(values))


def _with_marks(text: str) -> bytes:
    return text.replace("?", "%s").encode()


def _read(url: str) -> tuple[dict[str, Any], str]:
    """What libpq is to be told, and the schema, of which it knows nothing."""
    server, _, rest = url.partition("?")
    given = rest.split("&") if rest else []
    schema = next((unquote(each.removeprefix("schema=")) for each in given if each.startswith("schema=")), SCHEMA)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise WarehouseError(f'"{schema}" cannot be the schema of a store', hint="use letters, digits and underscores")
    others = "&".join(each for each in given if not each.startswith("schema="))
    options: dict[str, Any] | None = None
    with suppress(psycopg.Error):
        options = conninfo_to_dict(f"{server}?{others}" if others else server)
    # A password with an @ that is not escaped ends up as a host or a port, which messages would tell.
    if (
        options is None
        or not re.fullmatch(r"[\d,]*", str(options.get("port", "")))
        or any("@" in str(options.get(k)) for k in ("host", "dbname"))
    ):
        raise WarehouseError(
            "the URL of the store cannot be read",
            hint="postgresql://user@host:port/database; in a password @ is written %40, : is %3A and / is %2F",
        )
    return {**CONNECTING, **options}, schema


def _server(options: dict[str, Any]) -> str:
    """Host, port and database: what a message may tell."""
    defaults = {each.keyword.decode(): (each.val or b"").decode() for each in pq.Conninfo.get_defaults()}
    known = {**defaults, **options}
    return f"{known.get('host') or known.get('hostaddr') or 'localhost'}:{known.get('port')}/{known.get('dbname') or known.get('user')}"


def _first_line(problem: psycopg.Error) -> str:
    return str(problem).strip().split("\n")[0] or type(problem).__name__
