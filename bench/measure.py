"""What every benchmark shares: CPU time, and the report whose last line is one JSON object."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from slackwater.run.cpu import cpu_seconds

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Cost:
    """What something took: of this process and all it has started."""

    cpu: float
    seconds: float


def measured(work: Callable[[], T]) -> tuple[T, Cost]:
    cpu, began = cpu_seconds(), time.perf_counter()
    result = work()
    seconds, after = time.perf_counter() - began, cpu_seconds()
    if cpu is None or after is None:
        raise SystemExit("this system does not tell the CPU time of processes: benchmarks need /proc")
    return result, Cost(after - cpu, seconds)


def peak_memory() -> dict[str, float]:
    """The most memory that this process and those that it has started have held so far, in GB, by name."""
    found: dict[str, float] = {}
    for process, facts in _family().items():
        if "VmHWM" in facts:
            name = "driver" if process == os.getpid() else facts["Name"]
            found[name] = max(found.get(name, 0), round(int(facts["VmHWM"].split()[0]) / 2**20, 2))
    return found


def thread_seconds() -> dict[str, float]:
    """CPU seconds of the threads that live in this process and those that it has started, by name, numbers left out."""
    found: dict[str, float] = {}
    for process in _family():
        for path in Path(f"/proc/{process}/task").glob("*/stat"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                name, _, facts = path.read_text().partition("(")[2].rpartition(")")
                name = name.rstrip("0123456789#-") if process != os.getpid() else "this process"
                found[name] = found.get(name, 0) + sum(map(int, facts.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return found


def _family() -> dict[int, dict[str, str]]:
    """What the system tells of this process and those that it has started."""
    facts = {int(path.parent.name): dict(_status(path)) for path in Path("/proc").glob("[0-9]*/status")}
    family = {os.getpid()}
    while more := {process for process, each in facts.items() if int(each.get("PPid", 0)) in family} - family:
        family |= more
    return {process: facts[process] for process in family}


def _status(path: Path) -> Iterator[tuple[str, str]]:
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.partition(":")
            yield name, value.strip()
    except OSError:  # it has ended meanwhile
        return


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def report(bench: str, figures: dict[str, Any], peers: dict[str, Any] | None = None, details: dict[str, Any] | None = None) -> None:
    """The last line of a benchmark. It is kept, with details, below `bench/results`."""
    told = {"bench": bench, "figures": figures, "peers": peers or {}, "machine": machine(), "commit": commit()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{bench}.json").write_text(json.dumps({**told, "details": details or {}}, indent=1) + "\n")
    print(json.dumps(told), flush=True)


def last_result(bench: str) -> dict[str, Any]:
    """What a benchmark has last measured here, or nothing."""
    try:
        found: dict[str, Any] = json.loads((RESULTS / f"{bench}.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def machine() -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "processor": _processor(),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "pysail": version("pysail"),
    }


def commit() -> str | None:
    here = Path(__file__).parent
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def _processor() -> str:
    facts = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in facts if line.startswith("model name")), platform.machine())
