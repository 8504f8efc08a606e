"""Which store a warehouse's catalog is in, and how it is read there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

from slackwater.catalog.catalog import Catalog
from slackwater.catalog.pairing import check_pair, mark_of
from slackwater.catalog.sqlite import FILE, SQLite
from slackwater.catalog.store import Store
from slackwater.errors import WarehouseError
from slackwater.trace import Place, place_at
from slackwater.trace.disk import Disk


def store_named(url: str | None, warehouse: str | os.PathLike[str] | Place) -> Store:
    """A file in the warehouse's folder, or what the URL names. Nothing is opened yet."""
    place = place_at(warehouse)
    if url is None:
        if mark := mark_of(place):
            raise WarehouseError(f"the catalog of the warehouse at {place.name} is elsewhere", hint=f"name its store: {mark['store']}")
        if not isinstance(place, Disk):
            raise WarehouseError(
                f"the catalog cannot be at {place.name}", hint='name a store for it: store="postgresql://user@host/database"'
            )
        return SQLite(place.root)
    if isinstance(place, Disk) and (place.root / FILE).exists():
        raise WarehouseError(
            f"the catalog of the warehouse at {place.name} is in its folder", hint="open it without a store, or use a new folder"
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
def reading_catalog(store: Store, warehouse: str | os.PathLike[str] | Place) -> Iterator[Catalog]:
    """The catalog of a warehouse, beside whoever writes it. The store is closed afterwards."""
    with closing(store):
        catalog = Catalog(store, read_only=True)
        check_pair(catalog, place_at(warehouse), read_only=True)
        yield catalog
