"""CPU seconds of this process and all it has started: driver, JVM, Python workers."""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_seconds() -> float | None:
    """What the process tree has used so far; None where the system does not tell."""
    proc = Path("/proc")
    if not proc.is_dir():
        return None
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                facts = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            children.setdefault(int(facts[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(int(ticks) for ticks in facts[11:15]) / _TICK
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, [])
    return total
