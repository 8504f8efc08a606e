"""Streams: rows that arrive and are not kept for ever."""

from slackwater.stream.capacity import QUIET, USUAL, Capacity, capacity_named, quiet_named
from slackwater.stream.ring import kept_apart, leaving

__all__ = ["QUIET", "USUAL", "Capacity", "capacity_named", "kept_apart", "leaving", "quiet_named"]
