"""Where the catalog is of a warehouse that was named in a terminal."""

from __future__ import annotations

import argparse
import os

from slackwater.catalog.pairing import mark_of
from slackwater.trace import place_at


def store_of(options: argparse.Namespace) -> str | None:
    """The environment's is for warehouses whose catalog is not in their folder; a backup has it there."""
    url: str | None = options.store or (os.environ.get("SLACKWATER_STORE") or None if mark_of(place_at(options.warehouse)) else None)
    return url
