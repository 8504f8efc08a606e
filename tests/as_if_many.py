"""Import this where rows are few: what pays only when they are many is then done nevertheless, and so is tested."""

from __future__ import annotations

from slackwater.run import reads

reads.WORTH = reads.WORTH_GATHERING = 1
reads.TIMES = 0
