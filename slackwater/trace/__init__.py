"""What paths remember: batches, versions, files."""

from slackwater.trace.durable import Damaged
from slackwater.trace.files import Files, folder_at, rows_below
from slackwater.trace.trace import VERSION, Batch, File, Reading, Trace

__all__ = ["VERSION", "Batch", "Damaged", "File", "Files", "Reading", "Trace", "folder_at", "rows_below"]
