"""The change of a join, by kind. Each kind has a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta import inner_join, outer_join, semi_join
from slackwater.delta.rows import Change, Rows, Rule
from slackwater.plan import Join

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation

KINDS: dict[str, Rule] = {"inner": inner_join, "semi": semi_join, "anti": semi_join, "left": outer_join, "full": outer_join}


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    return KINDS[node.kind].at(node, part, named, derive)


def change(node: Join, named: bool, derive: Derivation) -> Change | None:
    return KINDS[node.kind].change(node, named, derive)
