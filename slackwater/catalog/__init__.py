"""What exists, in one SQL store."""

from slackwater.catalog.catalog import Catalog, Changes, Snapshot
from slackwater.catalog.lease import Lease
from slackwater.catalog.records import Answer, Done, Relation, Table, View

__all__ = ["Answer", "Catalog", "Changes", "Done", "Lease", "Relation", "Snapshot", "Table", "View"]
