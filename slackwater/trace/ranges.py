"""Which batches of a trace become one.

Only batches between two versions that nobody needs to tell apart may. Of those the newest are worth it once they have grown to a part of
the ones before them, so that a row is rewritten a few times in its life and there are only a few batches, however many steps there were:
both grow with the logarithm of the rows. To rewrite a row costs as much as to read it a dozen times, and a batch that has many rows about
nothing more than they do: of such it takes more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slackwater.trace.trace import Batch, Trace

BATCHES = 4  # fewer are not worth a file,
MANY = 32  # nor are so few, where none of their rows has left and
LASTING = 20_000  # rows are in a batch, on average
TIMES = 4  # a batch is folded into newer ones that together have at least a quarter of its rows
LEAST = 1000  # rows: to read a batch of fewer costs about as much
LARGE = 128 << 20  # bytes: a batch of this size is only rewritten to be rid of rows that have left,
LEFT = 10  # once they are a tenth of it: all who read it look through them


@dataclass(frozen=True)
class Range:
    """The batches of a trace after one version, up to another."""

    after: int
    upto: int

    def of(self, trace: Trace) -> tuple[Batch, ...]:
        return trace.between(self.after, self.upto)

    def splits(self, versions: Iterable[int]) -> bool:
        """Whether one of the versions could not be told from others any more."""
        return any(self.after < version < self.upto for version in versions)


def foldable(trace: Trace, needed: set[int]) -> list[Range]:
    """All ranges of more than one batch in which no version is `needed`: those that somebody will go on reading from."""
    ranges = []
    cuts = sorted({0, *(version for version in needed if version < trace.version), trace.version})
    for after, upto in zip(cuts, cuts[1:], strict=False):
        batches = trace.between(after, upto)
        if len(batches) > 1:
            ranges.append(Range(after, batches[-1].version))
    return ranges


def worth_folding(trace: Trace, needed: set[int]) -> list[Range]:
    """The ranges among them that it pays to fold."""
    chosen = (_grown(trace, whole) for whole in foldable(trace, needed))
    return [range for range in chosen if range is not None]


def _grown(trace: Trace, whole: Range) -> Range | None:
    """The newest batches of a range, as far down as they have grown to a part of the one before them."""
    batches = whole.of(trace)
    rows = left = 0
    found = None
    for position in reversed(range(len(batches))):
        batch = batches[position]
        size = max(batch.rows, LEAST)
        if rows and size > (LEFT * left if batch.bytes >= LARGE else TIMES * rows):
            break
        rows, left = rows + size, left + batch.removed_rows
        count = len(batches) - position
        if count >= (MANY if rows >= LASTING * count and not left else BATCHES):
            found = Range(batches[position - 1].version if position else whole.after, whole.upto)
    return found
