"""Which runs the new rows of a stream can reach, decided by times alone.

    head               |=====|- - - - - - -|          first row ... last row, and how long the last one lives
    too old   |==|- -|
    in reach      |===|- - - -|
    in reach                         |==|- - - -|
    too new                                   |==|

Runs out of reach are not looked into, and those out of reach of every head are not even opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from watersmeet.kernel.run import Run
from watersmeet.kernel.window import StoredRun


class Span(Protocol):
    """From when until when some row of a run is alive."""

    @property
    def earliest(self) -> int:
        """The time of the first row."""

    @property
    def end(self) -> int:
        """The last instant at which one of the rows is alive."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Heads that can find partners, the runs they can find them in, and which head reaches which.

    Attributes:
        heads: The numbers of the heads that can find partners.
        runs: Runs of the other windows, window by window in probe order.
        names: What these are called.
        first_run: Where the runs of each window start in `runs`, and one past the last.
        chosen: Per head, the numbers of the runs it reaches, window by window.
        bounds: Per head, where the numbers of each window start in `chosen`, and one past the last.
    """

    heads: list[int]
    runs: list[Run]
    names: list[str]
    first_run: Any
    chosen: list[Any]
    bounds: list[Any]


def reach_of(heads: Sequence[Span], windows: Sequence[Sequence[StoredRun]]) -> Reach:
    """Match runs of rows that look for partners with the runs of the windows they look into.

    Args:
        heads: The lives of the heads.
        windows: The visible runs of every other window, in probe order.
    """
    head_earliest = np.array([head.earliest for head in heads], np.int64)[:, None]
    head_end = np.array([head.end for head in heads], np.int64)[:, None]
    meets = []
    for stored in windows:
        earliest = np.array([run.earliest for run in stored], np.int64)
        end = np.array([run.end for run in stored], np.int64)
        meets.append((end >= head_earliest) & (earliest <= head_end))
    # A head for which one window has nothing cannot complete a combination.
    searching = np.flatnonzero(np.all([matrix.any(axis=1) for matrix in meets], axis=0))
    meets = [matrix[searching] for matrix in meets]
    used = [np.flatnonzero(matrix.any(axis=0)) for matrix in meets]
    first_run = _starts([len(numbers) for numbers in used])
    chosen, bounds = [], []
    for head in range(len(searching)):
        mine = [np.flatnonzero(meets[level][head, numbers]) for level, numbers in enumerate(used)]
        chosen.append(np.concatenate([numbers + first_run[level] for level, numbers in enumerate(mine)]))
        bounds.append(_starts([len(numbers) for numbers in mine]))
    looked_into = [stored[int(i)] for stored, numbers in zip(windows, used, strict=True) for i in numbers]
    return Reach(
        searching.tolist(),
        [stored.run for stored in looked_into],
        [stored.id for stored in looked_into],
        first_run,
        chosen,
        bounds,
    )


def _starts(sizes: Sequence[int]) -> Any:
    return np.cumsum([0, *sizes], dtype=np.int64)
