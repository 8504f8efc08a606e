"""The pages are run: what they say is what happens.

On each page the blocks marked `sql` and `python` run in order, in one session and one namespace. A `text` block right after one of them
is what it must have printed or answered; `sql error` must fail, with that message. Other blocks are for reading.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.run.definitions import STREAM_OPTIONS, TABLE_OPTIONS
from slackwater.run.views import VIEW_OPTIONS
from slackwater.sql import split

CONNECT: dict[str, Any] = slackwater.connect.__kwdefaults__ or {}
ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/sql.md",
    "docs/errors.md",
    "docs/settings.md",
    "docs/ingest.md",
    "docs/goals.md",
    "docs/streams.md",
    "docs/samples.md",
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its mark, its text, and the line of the page where it begins."""

    mark: str
    text: str
    line: int


def blocks_of(page: str) -> Iterator[Block]:
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        yield Block(found.group(1).strip(), found.group(2), page.count("\n", 0, found.start()) + 1)


class Reader:
    """Does what a page tells it to do."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"slackwater": slackwater}

    def run(self, block: Block) -> str | None:
        """What the block answers; None when it is only for reading."""
        if block.mark == "python":
            return self.python(block.text)
        if block.mark == "sql":
            return self.sql(block.text)
        if block.mark == "sql error":
            with pytest.raises(slackwater.SlackwaterError) as caught:
                self.sql(block.text)
            return str(caught.value)
        return None

    def python(self, text: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text.replace('engine="spark"', 'engine="sail"'), "page", "exec"), self.names)
        return printed.getvalue()

    def sql(self, text: str) -> str:
        if "db" not in self.names:
            self.names["db"] = slackwater.connect("./warehouse")
        return "\n".join(str(self.names["db"].sql(str(statement))) for statement in split(text))

    def close(self) -> None:
        if "db" in self.names:
            self.names["db"].close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_true(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The pages connect as a user would, to Spark; their tests need not wait for it.
    monkeypatch.setitem(CONNECT, "engine", "sail")
    reader, answer = Reader(), None
    try:
        for block in blocks_of((ROOT / page).read_text()):
            if block.mark == "text":
                assert answer is not None, f"{page}:{block.line}: nothing was asked"
                assert _plain(answer) == _plain(block.text), f"{page}:{block.line}"
            answer = reader.run(block)
    finally:
        reader.close()


def test_every_link_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_setting_is_on_its_page() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    options = {**VIEW_OPTIONS, **TABLE_OPTIONS, **STREAM_OPTIONS}
    variables = {name for file in ROOT.glob("slackwater/**/*.py") for name in re.findall(r"SLACKWATER_[A-Z]+", file.read_text())}
    assert variables and options
    values = [value for allowed in options.values() if isinstance(allowed, tuple) for value in allowed]
    for word in [*options, *values, *CONNECT, *variables]:
        assert word in page, f"docs/settings.md does not mention {word}"


def _plain(text: str) -> str:
    """Without trailing blanks, and without how long something took."""
    lines = re.sub(r"\b\d+\.\d+ s\b", "0.00 s", text).rstrip().split("\n")
    return "\n".join(line.rstrip() for line in lines)
