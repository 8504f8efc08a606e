"""Paths: what runs at a pace of its own."""

from slackwater.path.cut import Path, Paths, cut
from slackwater.path.fingerprint import fingerprint

__all__ = ["Path", "Paths", "cut", "fingerprint"]
