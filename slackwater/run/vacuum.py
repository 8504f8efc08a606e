"""VACUUM: give back the space of what nobody needs.

All batches that nobody needs to tell apart become one, what is left of steps that broke off is removed, and so are retired batches whose
readers have had their time. What this very statement retires gets that time too, and goes by itself afterwards.
"""

from __future__ import annotations

from slackwater.run.fold import fold_all
from slackwater.run.progress import Working, in_words
from slackwater.run.warehouse import Warehouse


def vacuum(warehouse: Warehouse) -> str:
    with warehouse.folding, warehouse.writing:
        warehouse.tell(Working("folding"))
        folded = fold_all(warehouse, wholly=True)
        warehouse.tell(Working("removing what nobody reads"))
        before = _usage(warehouse)
        warehouse.recover()
        warehouse.catalog.vacuum()
        given_back = max(0, before - _usage(warehouse))
        waiting = warehouse.waiting()
    later = f"; {in_words(waiting)} follow in a minute, when nobody can be reading them any more" if waiting else ""
    return f"{folded} trace{'' if folded == 1 else 's'} folded, {in_words(given_back)} given back{later}"


def _usage(warehouse: Warehouse) -> int:
    return warehouse.files.usage([warehouse.files.place.name])
