"""How far an experiment is, for those who wait.

An experiment loops over its cases with `each`. On a terminal that moves a bar; elsewhere nothing is shown
until it has ended.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

Case = TypeVar("Case")


class Tracker:
    """Told of every case that is done; this one keeps it to itself.

    >>> [2 * case for case in Tracker().each([1, 2])]
    [2, 4]
    """

    def each(self, cases: Sequence[Case]) -> Iterator[Case]:
        """The cases one by one."""
        for number, case in enumerate(cases):
            self._moved(number, len(cases))
            yield case
        self._moved(len(cases), len(cases))

    def _moved(self, done: int, total: int) -> None:
        pass


class _Bar(Tracker):
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def _moved(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)


class Screen:
    """Shows experiments as they run, and what came of each."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)

    @contextlib.contextmanager
    def running(self, title: str) -> Iterator[tuple[Tracker, Callable[[str], None]]]:
        """Show one experiment: a tracker for its cases, and where to say what came of it."""
        started, said = time.monotonic(), [""]
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30), TimeElapsedColumn())
        moving = self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=not moving) as progress:
            tracker = _Bar(progress, progress.add_task(title, total=None)) if moving else Tracker()
            yield tracker, lambda text: said.__setitem__(0, text)
        self.console.print(
            f"{title}: {said[0]}, {time.monotonic() - started:.0f} s", soft_wrap=True, highlight=False
        )
