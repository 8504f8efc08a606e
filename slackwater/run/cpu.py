"""CPU seconds of this process and all it has started: driver, JVM, Python workers."""

from __future__ import annotations

import os
import time

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_family: tuple[float, list[int]] = (0.0, [])  # when it was looked for, and who is in it


def cpu_seconds(known_for: float = 0.0) -> float | None:
    """What the process tree has used so far; None where the system does not tell.

    `known_for`: for so many seconds after it has looked through all processes of the machine, it asks those that it has found. What others
    use that were started since is missed until then.
    """
    global _family
    if not os.path.isdir("/proc/self"):
        return None
    if time.monotonic() - _family[0] > known_for or _family[1][0] != os.getpid():
        _family = (time.monotonic(), _descendants(os.getpid()))
    own, *others = _family[1]
    # Of itself a process knows more than ticks of the clock, which are as long as small flushes.
    ticks = sum(map(int, _facts(own)[13:15])) + sum(sum(map(int, facts[11:15])) for process in others if (facts := _facts(process)))
    return time.process_time() + ticks / _TICK


def _descendants(process: int) -> list[int]:
    """A process and all that it has started, itself first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (facts := _facts(int(name))):
            children.setdefault(int(facts[1]), []).append(int(name))
    found = [process]
    for each in found:
        found += children.get(each, [])
    return found


def _facts(process: int) -> list[bytes]:
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
