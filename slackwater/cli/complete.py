"""Completion: keywords, and the names of tables, views and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from slackwater.errors import SlackwaterError
from slackwater.sql.relations import quoted

if TYPE_CHECKING:
    from slackwater.session import Session

KEYWORDS = tuple(
    """
    ALL AND ANTI AS ASC BETWEEN BY CASE CAST COPY CREATE CROSS CUBE DELETE DELTA DESC DESCRIBE DISTINCT DROP ELSE END EXCEPT
    EXISTS EXPLAIN FALSE FILTER FORMAT FROM FULL GROUP GROUPING HAVING HISTORY IF IN INNER INSERT INTERSECT INTO IS JOIN KEY
    LATERAL LEFT LIKE LIMIT MATCHED MATERIALIZED MERGE NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PATHS PLAN PRIMARY
    REFRESH REPLACE RIGHT ROLLUP SELECT SEMI SET SETS SHOW SPARK TABLE TABLES THEN TRUE UNION UPDATE USING VACUUM VALUES VIEW VIEWS
    ALTER CAPACITY FOREIGN MARK QUIET REPEATABLE RESERVOIR RESUME ROWS SAMPLE SAMPLES SERVER SIZE STALENESS STREAM STREAMS
    SUSPEND TABLESAMPLE WHEN WHERE WITH
    """.split()
)
# After these a table or view is expected, and nothing else.
BEFORE_RELATION = {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "VIEW", "DESCRIBE", "DESC", "COPY", "HISTORY", "\\D"}


_WORD = re.compile(r"\w+")


class Names:
    """What exists in the warehouse, as far as completion needs it: read when somebody first presses Tab after a statement."""

    def __init__(self, db: Session) -> None:
        self.db = db
        self._known: dict[str, list[str]] | None = None

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of every table and view."""
        if self._known is None:
            relations = [str(row[0]) for what in ("TABLES", "STREAMS", "SAMPLES", "VIEWS") for row in self._ask(f"SHOW {what}")]
            self._known = {name: self._columns(name) for name in relations}
        return self._known

    def forget(self) -> None:
        """A statement may have changed what exists."""
        self._known = None

    def _columns(self, name: str) -> list[str]:
        return [str(row[1]) for row in self._ask(f"DESCRIBE {quoted(name)}") if row[0] == "column"]

    def _ask(self, statement: str) -> list[tuple[Any, ...]]:
        try:
            return list(self.db.sql(statement))
        except SlackwaterError:
            return []  # what cannot be described just is not completed


class SqlCompleter(Completer):
    """Offers what fits the word before the cursor."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        word = document.get_word_before_cursor(pattern=_WORD)
        for name in offers(before[: len(before) - len(word)], word, self.names.columns):
            yield Completion(name, start_position=-len(word))


def offers(before: str, word: str, columns: dict[str, list[str]]) -> list[str]:
    """What can stand for `word`, after the text `before`."""
    if before.endswith("."):
        qualifier = before[:-1].replace("(", " ").replace(",", " ").split()[-1:]
        return _starting(word, columns.get(qualifier[0], []) if qualifier else [])
    last = before.split()[-1].upper() if before.split() else ""
    if last in BEFORE_RELATION:
        return _starting(word, columns)
    if not word:
        return []
    of_relations = sorted({column for name, owned in columns.items() if name.lower() in before.lower() for column in owned})
    keywords = [keyword.lower() if word.islower() else keyword for keyword in KEYWORDS]
    return list(dict.fromkeys([*_starting(word, of_relations), *_starting(word, columns), *_starting(word, keywords)]))


def _starting(word: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().startswith(word.lower()) and name != word]
