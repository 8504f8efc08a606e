"""Where in the text a piece of a statement stands."""

from __future__ import annotations

import re

from slackwater.errors import Place
from slackwater.plan.nodes import Expression


def place_of(node: Expression | None) -> Place | None:
    """From the first to the last character that the parser remembers of `node`; a call is marked by its name."""
    if node is None:
        return None
    if "start" in node.meta:
        return Place(node.meta["start"], node.meta["end"] + 1)
    marks = [part.meta for part in node.walk() if "start" in part.meta]
    if not marks:
        return None
    return Place(min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)


def word_in(text: str, word: str) -> Place | None:
    """The first place where a word stands in the text: for what the parser did not remember."""
    found = re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)
    return Place(found.start(), found.end()) if found else None
