"""Import this where rows are few: what pays only when they are many is then done nevertheless, and so is tested."""

from __future__ import annotations

from slackwater.run import reads, sums, written

reads.WORTH = reads.WORTH_GATHERING = 1
reads.TIMES = 0
written.FEW = 8  # of some flushes the rows are taken, and others are written by the engine
sums.MOST = 3  # some groups are added to here, others by the engine
