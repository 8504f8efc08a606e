"""What an engine says when something fails, in our words.

Spark names a condition, the expression and its place; Sail gives a sentence. Both become a `QueryError` that keeps the engine's first line.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from pyspark.errors import PySparkException

from slackwater.errors import QueryError, SlackwaterError, WarehouseError
from slackwater.trace import Damaged

# PySpark logs every failed statement with its Java stack; we raise it instead.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

_CONDITION = re.compile(r"^\[([A-Z0-9_.]+)\]\s*")
# Spark names the file that it could not read, Sail does not.
_FAILED_READ = re.compile(r"\[FAILED_READ_FILE[^\n]*? file \S*?/(traces/[^/\s]+/[^/\s]+/_side=\w+/[^/\s]+?\.parquet)")
_OF_A_FILE = re.compile(r"^(Parquet|External|Object Store)\b.*?:")
_FRAGMENT = re.compile(r"== SQL.*?==\n(?P<line>.*?)\n(?P<carets>\s*\^+)", re.S)


@contextlib.contextmanager
def translated(statement: str) -> Iterator[None]:
    """Raise the engine's errors as ours."""
    try:
        yield
    except SlackwaterError:
        raise
    except PySparkException as failure:
        _raise_damaged(failure)
        raise in_our_words(str(failure), statement) from failure
    except Exception as failure:
        if type(failure).__module__.startswith(("py4j", "grpc")):
            _raise_damaged(failure)
            raise WarehouseError(f"the engine failed: {_root(str(failure))}", hint="see the engine's log") from failure
        raise


@contextlib.contextmanager
def reading_files(check: Callable[[bool], None], statement: str) -> Iterator[None]:
    """The same for what reads files. `check` raises `Damaged`: before, for what engines overlook, and after, for what they do not name."""
    check(False)
    try:
        with translated(statement):
            yield
    except SlackwaterError as problem:
        if _OF_A_FILE.match(str(problem.__cause__)):
            check(True)  # by checksum
        raise


def in_our_words(message: str, statement: str) -> QueryError:
    """The engine's message without its codes, with the expression that failed."""
    condition = _CONDITION.match(message)
    text = _first_line(_CONDITION.sub("", message))
    text = re.sub(r"\s*SQLSTATE: \w+|; line \d+ pos \d+;?", "", text).rstrip(". ")
    # Spark advises to switch its checks off; wrong answers are no remedy.
    text = re.sub(r"\s*If necessary set \S+ to \S+ to bypass this error", "", text).rstrip(". ")
    said, _, advice = text.partition(". ")
    error = QueryError(said[:1].lower() + said[1:], hint=advice[:1].lower() + advice[1:] or None)
    fragment = _FRAGMENT.search(message)
    if fragment:
        at = len(fragment["carets"]) - len(fragment["carets"].lstrip())
        expression = fragment["line"].split("\n")[-1][at : len(fragment["carets"])]
        error.message += f": {expression.strip()}"
    error.condition = condition[1] if condition else None  # type: ignore[attr-defined]
    return error


def _raise_damaged(failure: Exception) -> None:
    found = _FAILED_READ.search(str(failure))
    if found:
        raise Damaged(unquote(found[1]), f"cannot be read: {_root(str(failure))}") from failure


def _root(message: str) -> str:
    """What was the matter in the end: the last exception that a Java stack names, or the first line where there is no stack."""
    causes = re.findall(r"^(?:Caused by)?: (?:[\w$]+\.)+(.*)$", message, re.M)
    return causes[-1].strip() if causes else _first_line(message)


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "the engine gave no reason")
