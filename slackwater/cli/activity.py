"""A line that says what is running and for how long, once it is worth saying."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE = 0.4  # seconds; what is faster than this is not worth a line that vanishes again


class Activity:
    """`with Activity(console, "creating the view"):` shows the line after a moment and removes it at the end."""

    def __init__(self, console: Console, what: str) -> None:
        self._progress = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True)
        self._task = self._progress.add_task(what)
        self._timer = threading.Timer(PATIENCE, self._show)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = not console.is_terminal
        self._shown = False

    def tell(self, event: object) -> None:
        """What it is doing now."""
        self._progress.update(self._task, description=str(event))

    def __enter__(self) -> Self:
        if not self._over:
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._timer.cancel()
            if self._shown:
                self._progress.stop()
            self._over = True

    def _show(self) -> None:
        with self._lock:
            if not self._over:
                self._progress.start()
                self._shown = True
