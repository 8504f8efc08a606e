"""What definitions share: options, names that are taken, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slackwater.catalog import Snapshot
from slackwater.errors import QueryError
from slackwater.run.warehouse import Step
from slackwater.sql import Piece

Allowed = tuple[str, ...] | Callable[[str], object]  # values of an option, or what refuses others


def check_options(options: Mapping[str, str], known: Mapping[str, Allowed], text: str) -> None:
    for key, value in options.items():
        if key.lower() not in known:
            raise QueryError(f'unknown option "{key}"', hint=f"there are {', '.join(known)}")
        allowed = known[key.lower()]
        if callable(allowed):
            try:
                allowed(str(value))
            except QueryError as problem:
                raise QueryError(problem.message, text=text, place=getattr(value, "place", None), hint=problem.hint) from problem
        elif str(value).lower() not in allowed:
            raise QueryError(f"option {key} cannot be '{value}'", hint=f"it may be {' or '.join(allowed)}")


def plain(options: Mapping[str, str]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in options.items()}


def already(name: Piece, wanted: str, snapshot: Snapshot, if_not_exists: bool, or_replace: bool, text: str) -> str | None:
    """A message when there is nothing to do; an error when the name is taken."""
    found = snapshot.relations.get(name.lower())
    if found is None:
        return None
    kind = found.kind
    if or_replace and kind == wanted:
        return None
    if if_not_exists:
        return f"{name} exists already"
    raise QueryError(
        f'there is already a {kind} called "{found.name}"', text=text, place=name.place, hint="drop it first, or use OR REPLACE"
    )


def drop_traces(step: Step, name: str) -> None:
    for trace in list(step.traces):
        if trace == name.lower() or trace.startswith(name.lower() + "/"):
            step.drop_trace(trace)


def listed_views(names: list[str]) -> str:
    return f"view{'s' if len(names) > 1 else ''} " + ", ".join(f'"{name}"' for name in names)


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
