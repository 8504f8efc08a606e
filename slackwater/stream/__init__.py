"""Streams: rows that arrive and are not kept for ever; and samples, which are what one may keep of many rows."""

from slackwater.stream.capacity import QUIET, USUAL, Capacity, capacity_named, quiet_named
from slackwater.stream.ring import kept_apart, leaving
from slackwater.stream.sample import MOST, draw, grow

__all__ = ["MOST", "QUIET", "USUAL", "Capacity", "capacity_named", "draw", "grow", "kept_apart", "leaving", "quiet_named"]
