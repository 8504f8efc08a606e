"""The pages in docs/operators hold statements that are generated: this runs their examples and puts what EXPLAIN DELTA says into them.

A page's plain `sql` block makes tables and views; a block that opens with `sql NAME` holds the explanation of the view NAME.

    python -m tests.operator_pages          rewrite all pages
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import slackwater
from slackwater.sql.pieces import split

PAGES = Path(__file__).parents[1] / "docs" / "operators"
EXAMPLE = re.compile(r"```sql\n(.*?)```", re.DOTALL)
EXPLANATION = re.compile(r"```sql (\w+)\n(.*?)```", re.DOTALL)


def pages() -> list[Path]:
    """The pages that have an example."""
    return sorted(page for page in PAGES.glob("*.md") if EXAMPLE.search(page.read_text()))


def written(text: str, warehouse: Path) -> str:
    """The page with its explanations as they are now."""
    with slackwater.connect(warehouse, engine="sail") as db:
        for example in EXAMPLE.findall(text):
            for statement in split(example):
                db.sql(str(statement))
        return EXPLANATION.sub(lambda block: f"```sql {block[1]}\n{str(db.sql(f'EXPLAIN DELTA VIEW {block[1]}')).strip()}\n```", text)


def rewrite() -> None:
    for page in pages():
        with tempfile.TemporaryDirectory() as warehouse:
            page.write_text(written(page.read_text(), Path(warehouse)))
        print(page)


if __name__ == "__main__":
    rewrite()
