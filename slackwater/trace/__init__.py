"""What paths remember: batches, versions, files."""

from slackwater.trace.files import Files
from slackwater.trace.trace import VERSION, Batch, File, Reading, Trace

__all__ = ["VERSION", "Batch", "File", "Files", "Reading", "Trace"]
