"""What an engine says when something fails, in our words.

Spark names a condition, the expression and its place; Sail gives a sentence. Both become a `QueryError` that keeps the engine's first line.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from slackwater.errors import QueryError, SlackwaterError, WarehouseError
from slackwater.trace import HINTS, Damaged, Unwritable

# PySpark logs every failed statement with its Java stack; we raise it instead.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

_CONDITION = re.compile(r"^\[([A-Z0-9_.]+)\]\s*")
# Spark names the file that it could not read, Sail does not.
_FAILED_READ = re.compile(r"\[FAILED_READ_FILE[^\n]*? file \S*?/(traces/[^/\s]+/[^/\s]+/_side=\w+/[^/\s]+?\.parquet)")
_OF_A_FILE = re.compile(r"^(Parquet|External|Object Store)\b.*?:")
# What a Java stack names as the matter and its causes, and which of those are about files.
_CAUSES = re.compile(r"^(?:Caused by)?: ((?:[\w$]+\.)+\w+(?:: .*)?)$", re.M)
_OF_FILES = re.compile(r"java\.io\.IOException: |java\.nio\.file\.|org\.apache\.hadoop\.fs\.|java\.io\.FileNotFoundException: .*denied")
_OS_ERROR = re.compile(r"\(os error (\d+)\)|^\[Errno (\d+)\]")  # as Rust and Python write it
_FRAGMENT = re.compile(r"== SQL.*?==\n(?P<line>.*?)\n(?P<carets>\s*\^+)", re.S)
# Once in a great while gRPC cannot read a message of a server. It says so, or asks Sail for the rest of what that has forgotten by then.
_LOST_ANSWER = ("Exception deserializing response!", "task context not found for operation")

P = ParamSpec("P")
T = TypeVar("T")


class EngineLost(WarehouseError):
    """The engine's process has ended. Nothing of the statement was kept."""


class AnswerLost(WarehouseError):
    """What the engine answered did not arrive."""


def asked_again(ask: Callable[P, T]) -> Callable[P, T]:
    """For what may be done twice: if the answer does not arrive, ask once more."""

    @wraps(ask)
    def asked(*args: P.args, **named: P.kwargs) -> T:
        try:
            return ask(*args, **named)
        except AnswerLost:
            return ask(*args, **named)

    return asked


@contextlib.contextmanager
def translated(statement: str) -> Iterator[None]:
    """Raise the engine's errors as ours."""
    try:
        yield
    except SlackwaterError:
        raise
    except Exception as failure:
        _raise_unequipped(failure)
        _raise_damaged(failure)
        _raise_full(failure)
        if any(said in str(failure) for said in _LOST_ANSWER):
            raise AnswerLost("the engine's answer was lost on its way", hint="nothing of the statement was kept; try again") from failure
        if isinstance(failure, PySparkException):
            raise in_our_words(str(failure), statement) from failure
        if isinstance(failure, (ConnectionError, Py4JNetworkError)):  # while the bridge to Java breaks, and afterwards
            hint = "nothing of the statement was kept; start this program again, with more memory if that was the cause"
            raise EngineLost("the engine has ended", hint=hint) from failure
        if type(failure).__module__.startswith(("py4j", "grpc")):
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


@contextlib.contextmanager
def writing_files(directory: str) -> Iterator[None]:
    """The same for what writes files, around it: what an engine says of the disk is told as if we had written."""
    try:
        yield
    except Damaged:
        raise
    except SlackwaterError as problem:
        if (found := _of_the_disk(str(problem.__cause__))) is not None:
            raise Unwritable(directory, *found) from problem.__cause__
        raise


def _of_the_disk(message: str) -> tuple[int | None, str] | None:
    """The number and the words of what an operating system has refused. Sail and pyspark give the number; Java the words, or its own."""
    if found := _OS_ERROR.search(message):
        code = int(found[1] or found[2])
        return _by_number(code) if code in HINTS else None
    causes = _CAUSES.findall(message)
    if not causes or not _OF_FILES.match(causes[-1]):
        return None
    said = _root(message).partition(": ")[2].lower()
    if said.startswith("mkdirs failed"):
        return None, "no folder can be made there"
    return next((_by_number(code) for code in HINTS if os.strerror(code).lower() in said), (None, said))


def _by_number(code: int) -> tuple[int, str]:
    return code, os.strerror(code).lower()


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


def _raise_unequipped(failure: Exception) -> None:
    if "fs.s3a.S3AFileSystem not found" in str(failure):
        hint = "set spark.jars.packages to org.apache.hadoop:hadoop-aws, of the version of Hadoop that this Spark comes with"
        raise WarehouseError("Spark has no way to S3: it lacks hadoop-aws", hint=hint) from failure


def _raise_damaged(failure: Exception) -> None:
    found = _FAILED_READ.search(str(failure))
    if found:
        raise Damaged(unquote(found[1]), f"cannot be read: {_root(str(failure))}") from failure


def _raise_full(failure: Exception) -> None:
    """What an engine sorts and joins, and rows on their way to it, may be in files of its own."""
    found = _of_the_disk(str(failure))
    if found is not None and found[0] in (errno.ENOSPC, errno.EDQUOT):
        raise Unwritable("the engine's temporary files", *found) from failure


def _root(message: str) -> str:
    """What was the matter in the end: the last cause that a Java stack names, or the first line where there is no stack."""
    causes = _CAUSES.findall(message)
    return re.sub(r"^(?:[\w$]+\.)+", "", causes[-1]).strip() if causes else _first_line(message)


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "the engine gave no reason")
