"""Comparisons counted while a join runs, tuple by tuple, are those the formula predicts.

Would catch: a formula that describes another algorithm than the one people run.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from watersmeet.cost.comparisons import WindowLoad, multiway_cost


def arrivals(loads: list[WindowLoad], time: float, seed: int) -> Iterator[tuple[float, int, int]]:
    """Time, stream and value: streams drawn by their rates, times a tick apart (Golab & Özsu, Sect. 6.1)."""
    random = np.random.default_rng(seed)
    rates = np.array([load.rate for load in loads])
    count = int(time * rates.sum())
    streams = random.choice(len(loads), count, p=rates / rates.sum())
    for number, stream in enumerate(streams):
        yield number / rates.sum(), int(stream), int(random.integers(loads[stream].distinct))


def eager_join(loads: list[WindowLoad], order: tuple[int, ...], time: float, warm: float) -> float:
    """The eager multi-way nested-loop join, counting comparisons per time unit once windows are full."""
    windows: list[list[tuple[float, int]]] = [[] for _ in loads]
    compared = 0
    for now, stream, value in arrivals(loads, time, seed=3):
        for window, load in zip(windows, loads, strict=True):
            while window and window[0][0] < now - load.length:
                window.pop(0)
        combinations = 1
        for other in (other for other in order if other != stream):
            if now >= warm:
                compared += combinations * len(windows[other])
            # All bound tuples have the arriving value, so every loop finds the same ones.
            combinations *= sum(v == value for _, v in windows[other])
        windows[stream].append((now, value))
    return compared / (time - warm)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_counted_comparisons_are_those_of_the_formula(order: tuple[int, ...]) -> None:
    loads = [WindowLoad(4, 60, 20), WindowLoad(1, 80, 10), WindowLoad(2, 50, 40)]
    counted = eager_join(loads, order, time=1500, warm=100)
    assert counted == pytest.approx(multiway_cost(loads, order), rel=0.06)
