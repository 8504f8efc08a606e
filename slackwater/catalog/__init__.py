"""What exists, in one SQL store."""

from slackwater.catalog.catalog import Catalog, Changes, Snapshot
from slackwater.catalog.lease import Lease
from slackwater.catalog.pairing import check_pair
from slackwater.catalog.records import Answer, Done, Relation, Sample, Stream, Table, View
from slackwater.catalog.store import Store, Unsettled
from slackwater.catalog.stores import reading_catalog, store_named

__all__ = [
    "Answer",
    "Catalog",
    "Changes",
    "Done",
    "Lease",
    "Relation",
    "Sample",
    "Snapshot",
    "Store",
    "Stream",
    "Table",
    "Unsettled",
    "View",
    "check_pair",
    "reading_catalog",
    "store_named",
]
