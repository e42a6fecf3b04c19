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
        assert np.allclose(traffic.rates * spans[:, None], traffic.windows), "windows are not windows of time"
        sets: list[frozenset[int]] = [frozenset()]
        windows, turnover = np.ones((1, traffic.rates.shape[1])), np.zeros(1)
        for stream, (row, span) in enumerate(zip(traffic.windows, spans, strict=True)):
            sets += [streams | {stream} for streams in sets]
            windows = np.concatenate([windows, windows * row])
            turnover = np.concatenate([turnover, turnover + 1 / span])
        return cls(traffic.nodes, {streams: row for row, streams in enumerate(sets)}, windows, turnover)

    def split(self, groups: Iterable[tuple[int, ...]]) -> Iterator[TabledTraffic]:
        """The streams of each group."""
        for values in groups:
            held = self.windows[:, list(values)].sum(axis=1)
            yield TabledTraffic(self.nodes, self.rows, held * self.turnover, held)
