"""CPU seconds of this process and all it has started: driver, JVM, Python workers."""

from __future__ import annotations

import os

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_seconds() -> float | None:
    """What the process tree has used so far; None where the system does not tell."""
    if not os.path.isdir("/proc/self"):
        return None
    used: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (facts := _facts(name)):
            used[int(name)] = sum(map(int, facts[11:15]))
            children.setdefault(int(facts[1]), []).append(int(name))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0)
        waiting += children.get(process, [])
    return total / _TICK


def _facts(process: str) -> list[bytes]:
    """What the system says of a process, from its state on; nothing when it has ended meanwhile."""
    try:
        file = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return []
    finally:
        os.close(file)
