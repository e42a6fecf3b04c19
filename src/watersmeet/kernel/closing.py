"""When a combination closes, and whether it lacks rows, as one number that travels with it.

A combination of required rows closes when the last instant at which all of them are alive has passed: nothing
can be added to it from then on. One that lacks rows of optional streams leaves when it closes.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def closings(closes: Any, *, lacks: bool) -> Any:
    """The numbers of combinations that close at some times (int64 microseconds).

    >>> closings(np.array([-5, 7]), lacks=True).tolist()
    [-9, 15]
    """
    return (closes << 1) | np.int64(lacks)


def closing_times(numbers: Any) -> Any:
    """When they close.

    >>> closing_times(np.array([-9, 14])).tolist()
    [-5, 7]
    """
    return numbers >> 1


def lacking(numbers: Any) -> Any:
    """Which of them lack rows.

    >>> lacking(np.array([-9, 14])).tolist()
    [True, False]
    """
    return (numbers & 1).astype(np.bool_)
