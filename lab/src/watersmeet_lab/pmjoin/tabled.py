"""Rates of all joins of all groups of values at once.

Planning a thousand groups one by one takes seconds, most of it spent on the same few products. With windows
of time the rate of a join is its window divided by a span that does not depend on the value (eq. 2 and 3 with
window = rate * T):

    rate(S) = sum_v prod_i window_i(v) * sum_i 1 / T_i

So there is one table of products, a row for each set of streams and a column for each value, and a group's
rates are sums of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.traffic import Flow, Sizes, ValueTraffic

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TabledTraffic:
    """Streams on one attribute, with the rate and the window of every join ready.

    Attributes:
        nodes: The node of every stream.
        rows: Where in the tables a set of streams is.
        rates: Rates by set.
        windows: Windows by set.
        sizes: How long a result is.
    """

    nodes: tuple[int, ...]
    rows: Mapping[frozenset[int], int]
    rates: Floats
    windows: Floats
    sizes: Sizes = "flat"

    @classmethod
    def of(cls, traffic: ValueTraffic, spans: Floats) -> TabledTraffic:
        """Some streams with all their values.

        Args:
            traffic: The streams; tuples of one size.
            spans: How long the window of each lasts.
        """
        half = len(spans) // 2
        # A set is a subset of the first streams and one of the others, so the sum over values of all
        # products is a product of two small tables.
        held = _products(traffic.windows[half:]) @ _products(traffic.windows[:half]).T
        _require_spans(traffic, spans)
        return cls(traffic.nodes, sets(len(spans)), held.ravel() * _turnover(spans), held.ravel())

    def joined(self, streams: frozenset[int]) -> Flow:
        """Rate and window of the join of some streams."""
        row = self.rows[streams]
        return Flow(float(self.rates[row]), float(self.windows[row]))

    def linked(self, left: frozenset[int], right: frozenset[int]) -> bool:
        """Any two streams share the attribute."""
        return bool(left and right)


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The table of all values, from which groups are cut.

    Attributes:
        nodes: The node of every stream.
        rows: Where a set of streams is.
        windows: Per set of streams and value how many results are alive.
        turnover: Per set of streams the sum of 1 / T.
    """

    nodes: tuple[int, ...]
    rows: Mapping[frozenset[int], int]
    windows: Floats
    turnover: Floats

    @classmethod
    def of(cls, traffic: ValueTraffic, spans: Floats) -> Products:
        """The table of some streams.

        Args:
            traffic: The streams; tuples of one size.
            spans: How long the window of each lasts.
        """
        _require_spans(traffic, spans)
        return cls(traffic.nodes, sets(len(spans)), _products(traffic.windows), _turnover(spans))

    def split(self, groups: Iterable[tuple[int, ...]]) -> Iterator[TabledTraffic]:
        """The streams of each group."""
        for values in groups:
            held = self.windows[:, list(values)].sum(axis=1)
            yield TabledTraffic(self.nodes, self.rows, held * self.turnover, held)


@cache
def sets(streams: int) -> Mapping[frozenset[int], int]:
    """The row of every set of streams: its members as bits."""
    found: list[frozenset[int]] = [frozenset()]
    for stream in range(streams):
        found += [few | {stream} for few in found]
    return {few: row for row, few in enumerate(found)}


def _products(windows: Floats) -> Floats:
    """Per set of streams and value the product of their windows."""
    products = np.ones((1, windows.shape[1]))
    for row in windows:
        products = np.concatenate([products, products * row])
    return products


def _turnover(spans: Floats) -> Floats:
    """Per set of streams the sum of 1 / T."""
    turnover = np.zeros(1)
    for span in spans:
        turnover = np.concatenate([turnover, turnover + 1 / span])
    return turnover


def _require_spans(traffic: ValueTraffic, spans: Floats) -> None:
    assert np.allclose(traffic.rates * spans[:, None], traffic.windows), "windows are not windows of time"
