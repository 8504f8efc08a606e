"""Which store a warehouse's catalog is in, and how it is read there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from slackwater.catalog.catalog import Catalog
from slackwater.catalog.pairing import check_pair, mark_of
from slackwater.catalog.sqlite import FILE, SQLite
from slackwater.catalog.store import Store
from slackwater.errors import WarehouseError


def store_named(url: str | None, root: Path) -> Store:
    """A file in the warehouse's folder, or what the URL names. Nothing is opened yet."""
    root = root.absolute()
    if url is None:
        if mark := mark_of(root):
            raise WarehouseError(f"the catalog of the warehouse at {root} is elsewhere", hint=f"name its store: {mark['store']}")
        return SQLite(root)
    if (root / FILE).exists():
        raise WarehouseError(
            f"the catalog of the warehouse at {root} is in its folder", hint="open it without a store, or use a new folder"
        )
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme not in ("postgresql", "postgres"):
        named = f'"{scheme}://"' if scheme else "this"
        raise WarehouseError(
            f"{named} cannot be a store", hint="use postgresql://user@host:port/database, or none for a file in the warehouse"
        )
    try:
        from slackwater.catalog.postgres import Postgres
    except ImportError as problem:
        raise WarehouseError(f"PostgreSQL needs a driver: {problem}", hint='pip install "slackwater[postgres]"') from problem
    return Postgres(url)


@contextmanager
def reading_catalog(store: Store, root: Path) -> Iterator[Catalog]:
    """The catalog of a warehouse, beside whoever writes it. The store is closed afterwards."""
    with closing(store):
        catalog = Catalog(store, read_only=True)
        check_pair(catalog, root.absolute(), read_only=True)
        yield catalog
