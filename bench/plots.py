"""Pictures of what bench-pace has measured, for the docs: `make plots`.

trade-off       what it costs to leave less for the trigger, planner by planner
cpu-over-time   when the CPU seconds of a query are spent, between two triggers
expected        what was expected of each cell, and what came
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from bench.measure import RESULTS
from bench.pace import COMPARED, PARTLY

DOCS = Path(__file__).parents[1] / "docs" / "plots"
COLOURS = dict(zip(COMPARED, ("tab:blue", "tab:orange", "tab:green"), strict=True))
MARKS = {0.5: "o", 0.2: "s", 0.1: "^", 0.05: "D", 0.02: "v"}
WIDE = 4  # pictures in a row


def cells_of(known: dict[str, Any]) -> list[dict[str, Any]]:
    """All that were measured, but for those of one batch."""
    return [each for each in known.values() if isinstance(each, dict) and each.get("planner") in COMPARED and each["constraint"] < 1]


def trade_off(cells: list[dict[str, Any]], place: Path) -> None:
    names = sorted({cell["query"] for cell in cells}, key=lambda name: (name not in PARTLY, len(name), name))
    high = -(-len(names) // WIDE)
    figure, axes = plt.subplots(high, WIDE, figsize=(3.2 * WIDE, 2.6 * high), squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for name, axis in zip(names, axes.flat, strict=False):
        for cell in (each for each in cells if each["query"] == name):
            axis.scatter(
                cell["final"],
                cell["additional"] / cell["batch"],
                marker=MARKS[cell["constraint"]],
                color=COLOURS[cell["planner"]],
                alpha=0.7,
            )
        axis.set(title=name, xscale="log")
        axis.set_yscale("symlog", linthresh=0.1)
    for axis in axes[-1]:
        axis.set_xlabel("left for the trigger, of one batch")
    for row in axes:
        row[0].set_ylabel("CPU beyond one batch, in batches")
    shown = [plt.Line2D([], [], marker="o", linestyle="", color=colour, label=planner) for planner, colour in COLOURS.items()]
    shown += [plt.Line2D([], [], marker=mark, linestyle="", color="grey", label=f"final work {share:g}") for share, mark in MARKS.items()]
    figure.legend(handles=shown, loc="upper center", ncols=len(shown), fontsize="small")
    _save(figure, place, top=0.93)


def cpu_over_time(known: dict[str, Any], cells: list[dict[str, Any]], query: str, constraint: float, place: Path) -> None:
    figure, axis = plt.subplots(figsize=(6.4, 3.6))
    for cell in cells:
        if cell["query"] == query and cell["constraint"] == constraint:
            run = known.get(f"{query}|{','.join(map(str, cell['paces']))}", known[f"{query}|batch"])
            total, spent = 0.0, []
            for each in run["spent"]:
                total += each
                spent.append(total)
            axis.step(range(1, len(spent) + 1), spent, where="post", color=COLOURS[cell["planner"]], label=cell["planner"])
    axis.set(
        xlabel="of the rows that come until the trigger, percent", ylabel="CPU seconds so far", title=f"{query}, final work {constraint:g}"
    )
    axis.legend()
    _save(figure, place)


def expected(cells: list[dict[str, Any]], place: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2))
    for axis, title, pairs in (
        (axes[0], "left for the trigger, of one batch", [(cell["expected"], cell["final"], cell) for cell in cells]),
        (axes[1], "in all, of one batch", [(cell["expected_total"], cell["total"] / cell["batch"], cell) for cell in cells]),
    ):
        axis.scatter([pair[0] for pair in pairs], [pair[1] for pair in pairs], c=[COLOURS[pair[2]["planner"]] for pair in pairs], alpha=0.6)
        ends = [min(min(pair[:2]) for pair in pairs), max(max(pair[:2]) for pair in pairs)]
        axis.plot(ends, ends, color="grey", linewidth=1)
        axis.set(title=title, xlabel="expected", ylabel="seen", xscale="log", yscale="log")
    _save(figure, place)


def _save(figure: Any, place: Path, top: float = 1.0) -> None:
    figure.tight_layout(rect=(0, 0, 1, top))
    figure.savefig(place, metadata={"Date": None})
    plt.close(figure)
    print(place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--query", default="q17", help="whose CPU is shown over time; default %(default)s")
    parser.add_argument("--constraint", type=float, default=0.5, help="and at which constraint; default %(default)s")
    options = parser.parse_args()
    matplotlib.rcParams["svg.hashsalt"] = "slackwater"  # the same picture is the same file
    DOCS.mkdir(exist_ok=True)
    for found in sorted(RESULTS.glob("pace-*.json")):
        known = json.loads(found.read_text())
        cells, name = cells_of(known), found.stem.removeprefix("pace-")
        if cells:
            trade_off(cells, DOCS / f"trade-off-{name}.svg")
            cpu_over_time(known, cells, options.query, options.constraint, DOCS / f"cpu-over-time-{name}.svg")
            expected(cells, DOCS / f"expected-{name}.svg")


if __name__ == "__main__":
    main()
