"""The keys on which two sides of a join meet, in groups that behave alike.

Where it is known how often each value occurs, every value is a group. Where only numbers of distinct keys are
known, there are three: keys that both sides have, and those that only one of them has. How many are shared
follows from the probability that rows match: with d1 and d2 keys of which c are shared it is c / (d1 d2).
Without any figure for it the smaller set of keys is taken to lie in the larger, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from watersmeet.cost.sizes import Sizes
from watersmeet.query import JoinQuery
from watersmeet.query.keys import Key, key_names, keys_of
from watersmeet.stats import Frequencies, Statistics

Floats = NDArray[np.float64]
Streams = frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class KeyGroups:
    """Groups of keys.

    Attributes:
        keys: How many keys each has.
        left: Which share of the left side's rows has one of its keys.
        right: Likewise for the right side.
        own: Likewise for single streams that have the key.
    """

    keys: Floats
    left: Floats
    right: Floats
    own: Mapping[int, Floats]

    def turned(self) -> KeyGroups:
        """The same with the sides exchanged."""
        return KeyGroups(self.keys, self.right, self.left, self.own)


def key_groups(sizes: Sizes, left: Streams, right: Streams) -> KeyGroups | None:
    """The keys on which results of some streams meet those of others; None if too little is known."""
    query = sizes.query
    shared = [
        number
        for number, attribute in enumerate(query.attributes)
        if left & set(attribute.streams) and right & set(attribute.streams)
    ]
    if not shared:
        # Without a key all rows have the same one.
        one = np.ones(1)
        return KeyGroups(one, one, one, dict.fromkeys(left | right, one))
    spread = value_shares(query, sizes.statistics, shared, left | right)
    if spread is not None:
        keys, shares = spread
        sides = [np.prod([shares[s] for s in sorted(side & set(shares))], axis=0) for side in (left, right)]
        totals = [float((keys * side).sum()) for side in sides]
        sides = [side / total if total else side for side, total in zip(sides, totals, strict=True)]
        return KeyGroups(keys, sides[0], sides[1], shares)
    return _counted(sizes, shared, left, right)


def _counted(sizes: Sizes, shared: list[int], left: Streams, right: Streams) -> KeyGroups | None:
    counts = [_distinct(sizes, shared, side) for side in (left, right)]
    match = [sizes.match(side, shared).value for side in (left | right, left, right)]
    if None in counts or None in match:
        return None
    one, other = (max(1.0, count) for count in counts if count is not None)
    both, own, own_too = (value for value in match if value is not None)
    agreeing = both / (own * own_too) if own and own_too else 0.0
    common = min(one, other, agreeing * one * other)
    on_left, on_right = np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
    having = [s for s in left | right if all(s in sizes.query.attributes[n].streams for n in shared)]
    single = {s: sizes.distinct(shared, s).value for s in having}
    return KeyGroups(
        np.array([common, one - common, other - common]),
        on_left / one,
        on_right / other,
        {s: (on_left if s in left else on_right) / count for s, count in single.items() if count},
    )


def _distinct(sizes: Sizes, attributes: Iterable[int], side: Streams) -> float | None:
    """How many keys results of some streams have: those that all of them share."""
    total = 1.0
    wanted = set(attributes)
    for key in keys_of(sizes.query):
        shared = [number for number in key if number in wanted]
        having = side & set(sizes.query.attributes[key[0]].streams) if shared else frozenset[int]()
        counts = [sizes.distinct(shared, stream).value for stream in sorted(having)]
        if not counts:
            continue
        match = sizes.match(having, shared).value
        if match is None or None in counts:
            return None
        known = [count for count in counts if count is not None]
        total *= min(*known, match * prod(known)) if len(known) > 1 else known[0]
    return total


def value_shares(
    query: JoinQuery, statistics: Statistics, attributes: Iterable[int], streams: Streams
) -> tuple[Floats, dict[int, Floats]] | None:
    """Numbers of values, and per stream the share of its rows for each; None if not known for all streams."""
    key = next((key for key in keys_of(query) if set(key) == set(attributes)), None)
    if key is None:
        return None
    having = sorted(streams & set(query.attributes[key[0]].streams))
    spreads = {s: spread for s in having if (spread := frequencies_of(query, statistics, key, s)) is not None}
    if len(spreads) < len(having):
        return None
    first = next(iter(spreads.values()))
    values = list(dict.fromkeys(value for spread in spreads.values() for value in spread.shares))
    keys = [first.weight(value) * first.width for value in values]
    shares = {s: [spread.shares.get(v, 0.0) / first.width for v in values] for s, spread in spreads.items()}
    # Among values that are not listed, those of the stream with the fewest occur in all.
    rests = {s: rest_of(query, statistics, key, s, spread) for s, spread in spreads.items()}
    before = 0.0
    for count in sorted({count for _, count in rests.values() if count}):
        keys.append(count - before)
        for stream, (left, own) in rests.items():
            shares[stream].append(left / own if own >= count else 0.0)
        before = count
    return np.array(keys), {stream: np.array(row) for stream, row in shares.items()}


def frequencies_of(query: JoinQuery, statistics: Statistics, key: Key, stream: int) -> Frequencies | None:
    """How often the values of a key occur in a stream, if that is known."""
    return statistics.of(query.names[stream]).frequencies_of(*key_names(query, key, stream))


def rest_of(
    query: JoinQuery, statistics: Statistics, key: Key, stream: int, spread: Frequencies
) -> tuple[float, float]:
    """The share of a stream's rows whose value is not listed, and how many such values there are."""
    left = 1.0 - sum(spread.shares.values())
    known = statistics.of(query.names[stream]).distinct_of(*key_names(query, key, stream)).value
    values = 0.0 if known is None else known - spread.distinct
    return (left, values) if spread.sampled >= 1 and left > 1e-9 and values >= 1 else (0.0, 0.0)
