"""The pages about operators show the statements that are really run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.operator_pages import pages, written


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_shows_what_explain_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    assert text == written(text, tmp_path), "rewrite the pages with: python -m tests.operator_pages"
