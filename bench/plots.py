"""Pictures of what bench-pace and bench-spike have measured, for the docs: `make plots`.

trade-off       what it costs to leave less for the trigger, planner by planner
cpu-over-time   when the CPU seconds of a query are spent, between two triggers
expected        what was expected of each cell, and what came
by-scale        what one goal costs at each scale factor, and the least that any run has left
upset           what becomes of plans whose statistics are off, and of those that a burst meets (bench-pace_upset)
spike           how many rows wait before a stream, and in its ring, while threads insert as fast as they can (bench-spike)
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from bench.measure import RESULTS, last_result
from bench.pace import CHECKING, COMPARED, PARTLY, run_key

DOCS = Path(__file__).parents[1] / "docs" / "plots"
PLANNERS = (*COMPARED, CHECKING)
COLOURS = dict(zip(PLANNERS, ("tab:blue", "tab:orange", "tab:green", "grey"), strict=True))
MARKS = dict(zip(PLANNERS, ("o", "x", "+", "."), strict=True))
WIDE = 6  # pictures in a row
SHARES, MORE = (0.1, 0.2, 0.5, 1.0), (0.0, 0.1, 1.0, 10.0, 100.0)  # that are named on axes


def cells_of(known: dict[str, Any]) -> list[dict[str, Any]]:
    """All that were measured, but for those of one batch."""
    return [each for each in known.values() if isinstance(each, dict) and each.get("planner") in PLANNERS and each["constraint"] < 1]


def trade_off(cells: list[dict[str, Any]], place: Path) -> None:
    names = sorted({cell["query"] for cell in cells}, key=lambda name: (name not in PARTLY, len(name), name))
    high = -(-len(names) // WIDE)
    figure, axes = plt.subplots(high, WIDE, figsize=(2.4 * WIDE, 1.9 * high), squeeze=False, sharex=True, sharey=True)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for name, axis in zip(names, axes.flat, strict=False):
        for planner, mark in MARKS.items():
            found = {
                (cell["final"], cell["additional"] / cell["batch"]) for cell in cells if (cell["query"], cell["planner"]) == (name, planner)
            }
            axis.plot(*zip(*sorted(found), strict=True), mark, color=COLOURS[planner], markersize=5, fillstyle="none") if found else None
        axis.axvline(1.0, color="lightgrey", linewidth=1)
        axis.set_title(name, fontsize="medium")
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.set_xticks(SHARES, [f"{share:g}" for share in SHARES])
        axis.set_yticks(MORE, [f"{more:g}" for more in MORE])
        axis.minorticks_off()
    figure.supxlabel("left for the trigger, of one batch")
    figure.supylabel("CPU beyond one batch, in batches")
    shown = [
        plt.Line2D([], [], marker=mark, linestyle="", fillstyle="none", color=COLOURS[planner], label=planner)
        for planner, mark in MARKS.items()
    ]
    figure.legend(handles=shown, loc="upper center", ncols=len(shown))
    _save(figure, place, top=0.96)


def cpu_over_time(known: dict[str, Any], cells: list[dict[str, Any]], query: str, constraint: float, place: Path) -> None:
    figure, axis = plt.subplots(figsize=(6.4, 3.6))
    for cell in cells:
        if cell["query"] == query and cell["constraint"] == constraint:
            run = known.get(run_key(query, cell["paces"]), known[f"{query}|batch"])
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


def by_scale(cells: dict[float, list[dict[str, Any]]], constraint: float, place: Path) -> None:
    """Of the queries that were run at several scale factors."""
    at = {name: sorted(scale for scale in cells if any(cell["query"] == name for cell in cells[scale])) for name in _names(cells)}
    figure, (left, spent) = plt.subplots(1, 2, figsize=(9, 3.8))
    for number, (name, scales) in enumerate((name, scales) for name, scales in at.items() if len(scales) > 1):
        least = [min(cell["final"] for cell in cells[scale] if cell["query"] == name) for scale in scales]
        left.plot(scales, least, "o-", color=f"C{number}", label=name)
        for planner, line in (("greedy", "o-"), ("uniform", "x--")):
            beyond = [_beyond(cells[scale], name, constraint, planner) for scale in scales]
            spent.plot(scales, beyond, line, color=f"C{number}", fillstyle="none")
    left.set(title="the least left for the trigger, of one batch", xscale="log", yscale="log")
    spent.set(title=f"CPU beyond one batch at {constraint:g}, in batches", xscale="log")
    spent.set_yscale("symlog", linthresh=0.1)
    for axis in (left, spent):
        axis.set_xticks(sorted(cells), [f"{scale:g}" for scale in sorted(cells)])
        axis.set_xlabel("scale factor")
        axis.minorticks_off()
    left.legend()
    shown = [plt.Line2D([], [], color="grey", linestyle=line, label=planner) for planner, line in (("greedy", "-"), ("uniform", "--"))]
    spent.legend(handles=shown)
    _save(figure, place)


def _names(cells: dict[float, list[dict[str, Any]]]) -> list[str]:
    return sorted({cell["query"] for found in cells.values() for cell in found}, key=lambda name: (len(name), name))


def _beyond(cells: list[dict[str, Any]], query: str, constraint: float, planner: str) -> float:
    found = (cell for cell in cells if (cell["query"], cell["constraint"], cell["planner"]) == (query, constraint, planner))
    return next((cell["additional"] / cell["batch"] for cell in found), float("nan"))


def upset(cells: list[dict[str, Any]], query: str, place: Path) -> None:
    ours = [cell for cell in cells if cell["query"] == query]
    kinds: list[tuple[str, str, list[dict[str, Any]]]] = [("rows that operators give, times", "times", [c for c in ours if "times" in c])]
    kinds += [(f"burst, in the {where}", "burst", [c for c in ours if c.get("where") == where]) for where in ("middle", "end")]
    figure, axes = plt.subplots(2, len(kinds), figsize=(3.6 * len(kinds), 5), squeeze=False, sharey="row", sharex="col")
    for column, (title, key, found) in enumerate(kinds):
        for row, (what, label) in enumerate((("final", "left, of one batch"), ("additional", "CPU-s beyond one batch"))):
            for planner in ("greedy", "uniform"):
                of_planner = [cell for cell in found if cell["planner"] == planner]
                least, mean, most = zip(*(cell[what] for cell in of_planner), strict=True) if of_planner else ((), (), ())
                spread = [[m - low for m, low in zip(mean, least, strict=True)], [high - m for m, high in zip(mean, most, strict=True)]]
                x = [cell[key] for cell in of_planner]
                axes[row][column].errorbar(x, mean, spread, color=COLOURS[planner], marker=MARKS[planner], capsize=3, label=planner)
            axes[row][0].set_ylabel(label)
        axes[1][column].set_xlabel(title)
        ticks = sorted({cell[key] for cell in found})
        axes[0][column].set_xscale("log")
        axes[0][column].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes[0][column].minorticks_off()
    axes[0][0].legend()
    figure.suptitle(f"{query}, final work {ours[0]['constraint']:g}")
    _save(figure, place)


def spike(noted: dict[str, list[tuple[float, int, int]]], place: Path) -> None:
    figure, (before, within) = plt.subplots(1, 2, figsize=(9, 3.4))
    for name, found in noted.items():
        at, queue, ring = zip(*found, strict=True)
        before.plot(at, queue, linewidth=0.8, label=f"{name.rpartition(' ')[2]} threads")
        within.plot(at, [rows / 1000 for rows in ring], linewidth=0.8)
    before.set(title="rows that wait before the stream", xlabel="seconds")
    within.set(title="rows in the ring, for the view, in thousands", xlabel="seconds")
    before.legend()
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
    by_engine: dict[str, dict[float, list[dict[str, Any]]]] = {}
    for found in sorted(RESULTS.glob("pace-*.json")):
        known = json.loads(found.read_text())
        cells, name = cells_of(known), found.stem.removeprefix("pace-")
        engine, _, scale = name.partition("-")
        by_engine.setdefault(engine, {})[float(scale)] = cells
        if cells and float(scale) == 1:
            trade_off(cells, DOCS / f"trade-off-{name}.svg")
            cpu_over_time(known, cells, options.query, options.constraint, DOCS / f"cpu-over-time-{name}.svg")
            expected(cells, DOCS / f"expected-{name}.svg")
    for engine, scales in by_engine.items():
        if len(scales) > 1:
            by_scale(scales, options.constraint, DOCS / f"by-scale-{engine}.svg")
    upsets = last_result("pace_upset").get("details", {}).get("cells", [])
    for query in dict.fromkeys(cell["query"] for cell in upsets):
        upset(upsets, query, DOCS / f"upset-{query}.svg")
    spikes = last_result("spike").get("details", {})
    for engine in dict.fromkeys(name.partition(" ")[0] for name in spikes):
        spike({name: noted for name, noted in spikes.items() if name.startswith(engine)}, DOCS / f"spike-{engine}.svg")


if __name__ == "__main__":
    main()
