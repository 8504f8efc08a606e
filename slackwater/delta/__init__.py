"""The plan of a change. One operator, one file, its equation on top. Nothing here knows that Spark exists."""

from slackwater.delta.derive import Known
from slackwater.delta.flush import first_flush, gained, how, next_flush, whole_flush
from slackwater.delta.partials import ROWS, split
from slackwater.delta.rows import ADDED, ID, KEPT, NEW, OLD, OWN, REMOVED, SIDE, Moved

__all__ = [
    "ADDED",
    "ID",
    "KEPT",
    "Known",
    "NEW",
    "OLD",
    "OWN",
    "REMOVED",
    "ROWS",
    "SIDE",
    "Moved",
    "first_flush",
    "gained",
    "how",
    "next_flush",
    "split",
    "whole_flush",
]
