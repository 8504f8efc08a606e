"""When an answer is due, and how soon after: triggers and goals."""

from slackwater.pace.goal import Goal, goal_named
from slackwater.pace.trigger import Trigger, rows_named, trigger_named

__all__ = ["Goal", "Trigger", "goal_named", "rows_named", "trigger_named"]
