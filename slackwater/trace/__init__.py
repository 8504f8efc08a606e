"""What paths remember: batches, versions, files."""

from slackwater.trace.durable import Damaged
from slackwater.trace.files import Files, Part
from slackwater.trace.place import Place, folder_of, place_at
from slackwater.trace.ranges import Range, foldable, worth_folding
from slackwater.trace.trace import VERSION, Batch, File, Reading, Trace
from slackwater.trace.unwritable import HINTS, Unwritable

__all__ = [
    "HINTS", "VERSION", "Batch", "Damaged", "File", "Files", "Part", "Place", "Range", "Reading", "Trace", "Unwritable", "foldable",
    "folder_of", "place_at", "worth_folding",
]  # fmt: skip
