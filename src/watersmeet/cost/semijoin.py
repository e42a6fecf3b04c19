"""What it costs to join streams that arrive at different nodes (Tran & Lee 2010, Appendix B).

The algorithms are those of `plan.sites.algorithm`: six of the paper, and three of them with Bloom filters.
Costs are seconds of work per second of arrivals, summed over links and nodes. A link may well be asked for
more than a second of work per second: it is then too slow for the streams, whichever algorithm is best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from watersmeet.cost.site import DEFAULT, Link, Setting, SiteStream, Work
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.bloom import ONE_FILTER, SLICE_FILTER


@dataclass(frozen=True, slots=True)
class OneWayJoin:
    """Arrivals of the first stream look back into the window of the second.

    The properties are the quantities of Table 4, with its letters in brackets.
    """

    first: SiteStream
    second: SiteStream
    link: Link
    setting: Setting = DEFAULT

    @property
    def batch1(self) -> float:
        """Rows of the first stream per tick (wp_1)."""
        return self.first.rate * self.setting.tick

    @property
    def batch2(self) -> float:
        """Rows of the second stream per tick (wp_2)."""
        return self.second.rate * self.setting.tick

    @property
    def keys1(self) -> float:
        """Distinct keys in a batch of the first stream (m_1)."""
        return self._keys(self.first, self.batch1)

    @property
    def keys2(self) -> float:
        """Distinct keys in a batch of the second stream (m_2)."""
        return self._keys(self.second, self.batch2)

    @property
    def window_keys(self) -> float:
        """Distinct keys in the window of the second stream (k_2)."""
        return self._keys(self.second, self.second.held)

    def _keys(self, stream: SiteStream, rows: float) -> float:
        return stream.distinct if self.setting.literal_keys else min(stream.distinct, rows)

    def ship(self, *sizes: float) -> float:
        """Seconds per second to send messages of these many bytes at every tick."""
        return self.setting.shipping(self.link, *sizes)


def survival(first: SiteStream, second: SiteStream) -> float:
    """Fraction of the first stream's rows whose key the second also has: f_12 of Table 4.

    The smaller set of keys is taken to lie within the larger. The table calls it the factor of the semijoin
    from the first to the second; the formulas use it as what the second leaves of the first.
    """
    return min(1.0, second.distinct / first.distinct)


def match_prob(first: SiteStream, second: SiteStream) -> float:
    """Probability that a row of each have the same key, the join selectivity of Sect. 4.1."""
    return 1.0 / max(first.distinct, second.distinct)


def sp_s(join: OneWayJoin) -> Work:
    """C_SP-S, simple join at the source: the second stream keeps a copy of its window at node 1."""
    first, second, c = join.first, join.second, join.setting.constants
    return Work(
        join.ship(join.batch2 * second.full),
        first.rate * c.update + first.rate * c.probe * second.held + second.rate * c.update,
    )


def sp_d(join: OneWayJoin) -> Work:
    """C_SP-D, simple join at the destination: the rows of the first stream travel."""
    first, second, c = join.first, join.second, join.setting.constants
    return Work(
        join.ship(join.batch1 * first.full),
        first.rate * c.insert + first.rate * c.probe * second.held + second.rate * c.update,
    )


def sm_s1(join: OneWayJoin) -> Work:
    """C_SM-S1, one-step semijoin at the source: keys there, rows back, and how many of them have expired."""
    first, second, c = join.first, join.second, join.setting.constants
    shipped = join.batch2 * survival(second, first)
    # Without rows there is nothing to count.
    count = c.message if shipped or join.setting.literal_empty else 0.0
    return Work(
        join.ship(join.keys1 * first.partial, shipped * second.full, count),
        (first.rate + second.rate) * c.insert
        + (join.keys1 * c.probe * second.held + shipped * c.insert) / join.setting.tick
        + first.rate * c.probe * second.held * survival(second, first),
    )


def sm_s2(join: OneWayJoin) -> Work:
    """C_SM-S2, two-step semijoin at the source: node 1 holds all keys and the rows of those it asked for.

    In print the rows that follow a known key stand outside S(.), bytes added to seconds. They travel in the
    same message as the new keys.
    """
    first, second, c = join.first, join.second, join.setting.constants
    asked = join.window_keys * (1 - survival(first, second))
    new = join.keys2 * (1 - survival(second, first))
    answer, counts = asked, 0.0
    if join.setting.detailed:
        answer = second.held * (1 - survival(first, second))
        counts = join.window_keys * c.message
    known = join.batch2 * survival(second, first)
    return Work(
        join.ship(
            asked * second.partial, answer * second.full, new * second.partial + known * second.full + counts
        ),
        first.rate * (c.insert + 2 * c.hashing)
        + second.rate * (c.insert + c.probe * join.window_keys)
        + (asked * c.probe * second.held + new * (c.insert + c.update)) / join.setting.tick,
    )


def sm_d1(join: OneWayJoin) -> Work:
    """C_SM-D1, one-step semijoin at the destination: node 1 holds the keys of the second stream."""
    first, second, c = join.first, join.second, join.setting.constants
    new = join.keys2 * (1 - survival(second, first))
    counts = join.window_keys * c.message if join.setting.detailed else 0.0
    return Work(
        join.ship(join.batch1 * survival(first, second) * first.full, new * second.partial + counts),
        first.rate * c.probe * (join.window_keys + survival(first, second) * second.held)
        + second.rate * c.probe * join.window_keys
        + (first.rate + second.rate) * c.insert
        + 2 * new * c.insert / join.setting.tick,
    )


def sm_d2(join: OneWayJoin) -> Work:
    """C_SM-D2, two-step semijoin at the destination: keys there, matching keys back, then the rows.

    In print the last shipment is of all rows; what travels, and what the formula charges, are those left.
    """
    first, second, c = join.first, join.second, join.setting.constants
    left = survival(first, second)
    return Work(
        join.ship(
            join.keys1 * first.partial, join.keys1 * left * first.partial, join.batch1 * left * first.full
        ),
        first.rate * c.insert
        + (join.keys1 * second.held + join.keys1 * left * join.batch1) * c.probe / join.setting.tick
        + first.rate * left * c.probe * second.held
        + second.rate * c.update,
    )


def sm_s1_bloom(join: OneWayJoin) -> Work:
    """SM-S1 with the keys in a filter: every row of the window is tried, and a few too many are sent."""
    first, second, c = join.first, join.second, join.setting.constants
    share = ONE_FILTER.passing(survival(second, first))
    shipped = join.batch2 * share
    return Work(
        join.ship(join.keys1 * ONE_FILTER.bytes, shipped * second.full, c.message if shipped else 0.0),
        (first.rate + second.rate) * c.insert
        + (second.held * c.hashing + shipped * c.insert) / join.setting.tick
        + first.rate * c.probe * second.held * share,
    )


def sm_d1_bloom(join: OneWayJoin) -> Work:
    """SM-D1 with one filter per tick: a head is tried against all filters of a window."""
    first, second, c = join.first, join.second, join.setting.constants
    filters = second.window / join.setting.tick
    left = SLICE_FILTER.passing(survival(first, second), filters)
    return Work(
        join.ship(join.batch1 * left * first.full, join.keys2 * SLICE_FILTER.bytes),
        first.rate * (c.insert + c.hashing * filters)
        + first.rate * left * c.probe * second.held
        + second.rate * (c.insert + c.hashing),
    )


def sm_d2_bloom(join: OneWayJoin) -> Work:
    """SM-D2 with filters in both directions."""
    first, second, c = join.first, join.second, join.setting.constants
    left = ONE_FILTER.passing(survival(first, second))
    back = min(join.window_keys, join.keys1 * survival(first, second)) * ONE_FILTER.bytes
    return Work(
        join.ship(join.keys1 * ONE_FILTER.bytes, back, join.batch1 * left * first.full),
        first.rate * (c.insert + c.hashing)
        + second.held * c.hashing / join.setting.tick
        + first.rate * left * c.probe * second.held
        + second.rate * c.update,
    )


FORMULAS: Mapping[Algorithm, Callable[[OneWayJoin], Work]] = {
    Algorithm.SP_S: sp_s,
    Algorithm.SP_D: sp_d,
    Algorithm.SM_S1: sm_s1,
    Algorithm.SM_S2: sm_s2,
    Algorithm.SM_D1: sm_d1,
    Algorithm.SM_D2: sm_d2,
    Algorithm.SM_S1_BLOOM: sm_s1_bloom,
    Algorithm.SM_D1_BLOOM: sm_d1_bloom,
    Algorithm.SM_D2_BLOOM: sm_d2_bloom,
}


def output(first: SiteStream, second: SiteStream, node: int) -> SiteStream:
    """The results of a one-way join as the first stream of the next step (Sect. 4.1).

    The paper gives the rate only. A result carries both rows and is looked up by one key. It lasts until
    one of its members expires, so its mean life is 1 / (1 / T1 + 1 / T2) (Little's law on the number of pairs
    in two windows). Its keys are those both streams have.

    >>> clicks = SiteStream(node=0, rate=100, window=2, distinct=50, full=200, partial=5)
    >>> orders = SiteStream(node=1, rate=10, window=6, distinct=20, full=80, partial=5)
    >>> output(clicks, orders, node=1)
    SiteStream(node=1, rate=120.0, window=1.5, distinct=20, full=280, partial=5)
    """
    return SiteStream(
        node=node,
        rate=first.rate * second.held * match_prob(first, second),
        window=1 / (1 / first.window + 1 / second.window),
        distinct=min(first.distinct, second.distinct),
        full=first.full + second.full,
        partial=first.partial,
    )
