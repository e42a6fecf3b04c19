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
from typing import Any

import numpy as np

from watersmeet.kernel.run import Run
from watersmeet.kernel.window import StoredRun


@dataclass(frozen=True, slots=True)
class Reach:
    """Heads that can find partners, the runs they can find them in, and which head reaches which.

    Attributes:
        heads: Runs of new rows.
        runs: Runs of the other windows, window by window in probe order.
        first_run: Where the runs of each window start in `runs`, and one past the last.
        chosen: Per head, the numbers of the runs it reaches, window by window.
        bounds: Per head, where the numbers of each window start in `chosen`, and one past the last.
    """

    heads: list[Run]
    runs: list[Run]
    first_run: Any
    chosen: list[Any]
    bounds: list[Any]


def reach_of(
    fresh: Sequence[StoredRun], head_window: int, windows: Sequence[Sequence[StoredRun]], lengths: Any
) -> Reach:
    """Match new runs of one stream with the runs of the other windows.

    Args:
        fresh: The new runs.
        head_window: The window length of their stream.
        windows: The visible runs of every other window, in probe order.
        lengths: The lengths of these windows.
    """
    head_earliest, head_latest = _spans(fresh)
    meets = []
    for stored, length in zip(windows, lengths, strict=True):
        earliest, latest = _spans(stored)
        meets.append(
            (latest + length >= head_earliest[:, None]) & (earliest <= head_latest[:, None] + head_window)
        )
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
    return Reach(
        [fresh[int(head)].run for head in searching],
        [stored[int(i)].run for stored, numbers in zip(windows, used, strict=True) for i in numbers],
        first_run,
        chosen,
        bounds,
    )


def _spans(runs: Sequence[StoredRun]) -> tuple[Any, Any]:
    return (
        np.array([stored.earliest for stored in runs], np.int64),
        np.array([stored.latest for stored in runs], np.int64),
    )


def _starts(sizes: Sequence[int]) -> Any:
    return np.cumsum([0, *sizes], dtype=np.int64)
