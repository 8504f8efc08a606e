"""Slackwater: materialized views for Apache Spark that stay right, at the least work a deadline allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater.errors import Busy, InternalError, QueryError, SlackwaterError, Unsupported, WarehouseError

if TYPE_CHECKING:
    from slackwater.result import Result
    from slackwater.session import Session, connect

__version__ = "0.1.0"

__all__ = [
    "Busy", "InternalError", "QueryError", "Result", "Session", "SlackwaterError", "Unsupported", "WarehouseError",
    "__version__", "connect",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Spark is imported when a session is wanted, not when somebody only needs plans or errors.
    if name in ("Result", "Session", "connect"):
        from slackwater import session

        return getattr(session, name)
    raise AttributeError(name)
