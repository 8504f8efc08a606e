"""How soon after its trigger an answer has to be there.

batch             whenever it is done: all work waits for the trigger, so that the least of it is spent
within 5 seconds  so long after the trigger at most
final work 0.1    with a tenth of the work after the trigger that one batch would take then, the rest of it before
eager             as soon as can be: what arrives is worked off at once, and the trigger only shows it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from slackwater.errors import QueryError
from slackwater.pace.trigger import seconds_of

BATCH, WITHIN, FINAL, EAGER = "batch", "within", "final work", "eager"
EXAMPLES = "'batch', 'within 5 seconds', 'final work 0.1' or 'eager'"


@dataclass(frozen=True)
class Goal:
    """What a user asks for. `seconds`: after the trigger; `share`: of the work of one batch that may be left for it."""

    kind: str
    seconds: float = math.inf
    share: float = math.inf

    @property
    def is_paced(self) -> bool:
        """Whether it says how much of the work is done before the trigger."""
        return self.kind in (WITHIN, FINAL)

    def word(self, latency: float, share: float | None) -> str:
        """Whether an answer has met it that took so long, and such a share of the work of one batch; nothing where any will do."""
        if self.kind == FINAL:
            return "" if share is None else "met" if share <= self.share else "missed"
        return "" if math.isinf(self.seconds) else "met" if latency <= self.seconds else "missed"


@lru_cache(maxsize=1024)
def goal_named(text: str) -> Goal:
    """The goal that an option names."""
    words = " ".join(text.lower().split())
    if words in (BATCH, EAGER):
        return Goal(words)
    if words.startswith(f"{WITHIN} "):
        return Goal(WITHIN, seconds_of(words.removeprefix(f"{WITHIN} "), text))
    if words.startswith(f"{FINAL} "):
        return Goal(FINAL, share=_share(words.removeprefix(f"{FINAL} "), text))
    raise QueryError(f"there is no goal '{text}'", hint=f"it may be {EXAMPLES}")


def _share(word: str, text: str) -> float:
    try:
        share = float(word)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise QueryError(f"'{text}' names no share", hint="write a number above 0 and up to 1, as in 'final work 0.1'")
    return share
