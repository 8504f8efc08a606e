"""Compiled views, remembered: binding asks the engine for types, so it is done once per text."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from slackwater.catalog import Snapshot
from slackwater.run.compile import Compiled, compile_query
from slackwater.run.warehouse import Warehouse

_known: WeakKeyDictionary[Warehouse, dict[str, tuple[object, Compiled]]] = WeakKeyDictionary()
_lock = threading.RLock()


def compiled(name: str, snapshot: Snapshot, warehouse: Warehouse) -> Compiled:
    """How the view `name` is kept."""
    view = snapshot.view(name)
    with _lock:
        cache = _known.setdefault(warehouse, {})
        # A view's form depends on its text and on the columns of what it reads.
        key = (view.text, tuple((read, snapshot.relation(read).columns) for read in view.reads))
        found = cache.get(view.name.lower())
        if found is None or found[0] != key:
            form = compile_query(
                view.name.lower(), view.text, snapshot, warehouse.engine,
                lambda read: compiled(read, snapshot, warehouse), tuple(c.name for c in view.columns),
            )  # fmt: skip
            found = cache[view.name.lower()] = (key, form)
        return found[1]
