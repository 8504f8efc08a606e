"""The folder listing is the architecture: imports point down."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "slackwater"

# Each may import those below it, and itself.
LAYERS = [
    "cli", "session", "explain", "run", "result", "spark", "catalog", "sql", "stream", "trace", "path", "delta", "rewrite", "pace", "plan",
    "errors",
]  # fmt: skip

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in LAYERS)


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The modules a file imports, wherever in the file that is."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" if node.module == "slackwater" else node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = LAYERS.index(layer_of(path))
    for module in imports(path):
        if module.startswith("slackwater.") and not module.startswith(("slackwater.__version__", "slackwater.connect")):
            other = module.split(".")[1]
            assert other in LAYERS, f"{path} imports {module}"
            assert LAYERS.index(other) >= own, f"{path} is below {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_one_folder_imports_pyspark(path: Path) -> None:
    if layer_of(path) != "spark":
        assert not {module for module in imports(path) if module.split(".")[0] in ("pyspark", "pysail", "py4j")}


def test_every_folder_is_a_layer() -> None:
    assert {layer_of(path) for path in FILES} <= set(LAYERS)
