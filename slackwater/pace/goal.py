"""How soon after its trigger an answer has to be there.

batch             whenever it is done: all work waits for the trigger, so that the least of it is spent
within 5 seconds  so long after the trigger at most
eager             as soon as can be: what arrives is worked off at once, and the trigger only shows it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from slackwater.errors import QueryError
from slackwater.pace.trigger import seconds_of

BATCH, WITHIN, EAGER = "batch", "within", "eager"
EXAMPLES = "'batch', 'within 5 seconds' or 'eager'"


@dataclass(frozen=True)
class Goal:
    """What a user asks for. `seconds`: after the trigger."""

    kind: str
    seconds: float = math.inf

    def word(self, latency: float) -> str:
        """Whether an answer that took so long has met it; nothing where any will do."""
        return "" if math.isinf(self.seconds) else "met" if latency <= self.seconds else "missed"


@lru_cache(maxsize=1024)
def goal_named(text: str) -> Goal:
    """The goal that an option names."""
    words = " ".join(text.lower().split())
    if words in (BATCH, EAGER):
        return Goal(words)
    if words.startswith(f"{WITHIN} "):
        return Goal(WITHIN, seconds_of(words.removeprefix(f"{WITHIN} "), text))
    raise QueryError(f"there is no goal '{text}'", hint=f"it may be {EXAMPLES}")
