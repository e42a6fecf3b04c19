"""What heads and a window have in common, from what is known about the data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from watersmeet.cost.site_bytes import Exchange, Meeting, Sent, Width, exchange, shipped
from watersmeet.cost.sizes import Sizes
from watersmeet.optimize.sites.key_groups import Floats, KeyGroups, Streams, key_groups
from watersmeet.optimize.sites.widths import Widths
from watersmeet.plan.sites.algorithm import Algorithm

# A batch, where nobody says what time one spans; seconds.
DEFAULT_TICK = 1.0

Exchanges = dict[Algorithm, Exchange]


class Meetings:
    """What one-way joins of a query send, and how many results they have; asked once, remembered.

    Attributes:
        sizes: How many rows there are and match.
        widths: How many bytes they have.
        tick: The time of a batch, seconds.
    """

    def __init__(self, sizes: Sizes) -> None:
        """Nothing is computed yet."""
        self.sizes = sizes
        self.widths = Widths(sizes.query, sizes.statistics)
        self.tick = sizes.statistics.batch_seconds.value or DEFAULT_TICK
        self._rates: dict[tuple[Streams, int], float | None] = {}
        self._groups: dict[tuple[Streams, Streams], KeyGroups | None] = {}
        self._exchanges: dict[tuple[Streams, Streams, Streams, bool], Exchanges | None] = {}

    @property
    def known(self) -> bool:
        """Whether the figures suffice to compare plans."""
        everything = range(len(self.sizes.query.streams))
        arriving = all(self.rate(frozenset({stream})) is not None for stream in everything)
        whole = frozenset(everything)
        return (
            arriving
            and self.rate(whole) is not None
            and self.widths.row(whole) is not None
            and all(self.widths.row([stream]) is not None for stream in everything)
            and all(self._grouped(frozenset({s}), whole - {s}) is not None for s in everything)
        )

    def missing(self) -> list[str]:
        """What would have to be known."""
        names = self.sizes.query.names
        wide = [f"the bytes of {name}" for n, name in enumerate(names) if self.widths.row([n]) is None]
        return [*self.sizes.missing(), *wide]

    def rate(self, streams: Streams, heads: Iterable[int] | None = None) -> float | None:
        """Results of some streams per second, of all of which some are the last row."""
        total = 0.0
        for last in sorted(streams if heads is None else heads):
            if (streams, last) not in self._rates:
                self._rates[streams, last] = self._headed(streams, last)
            found = self._rates[streams, last]
            if found is None:
                return None
            total += found
        return total

    def _headed(self, streams: Streams, last: int) -> float | None:
        found = self.sizes.rate(last)
        for other in sorted(streams - {last}):
            found = found * self.sizes.alive(other)
        return (found * self.sizes.match(streams)).value

    def exchanges(
        self, done: Streams, heads: Streams, joined: Streams, *, ends: bool = False
    ) -> Exchanges | None:
        """What every algorithm sends when results of some streams look into the window of others.

        Args:
            done: The streams of the heads.
            heads: Which of them is the last row of a head.
            joined: The streams of the window.
            ends: Whether intermediate results say until when they live.
        """
        step = (done, heads, joined, ends)
        if step not in self._exchanges:
            meeting = self.meeting(done, heads, joined, ends=ends)
            found = None if meeting is None else {how: exchange(how, meeting) for how in Algorithm}
            self._exchanges[step] = found
        return self._exchanges[step]

    def shipped(self, streams: Streams, *, ends: bool, packets: float = 1.0, share: float = 1.0) -> Sent:
        """What it takes to send the results of some streams as they come, or a share of them."""
        rate, width = self.rate(streams), self.widths.row(streams, ends=ends and len(streams) > 1)
        assert rate is not None, "asked only where rates are known"
        assert width is not None, "asked only where widths are known"
        return shipped(rate * share, width, self.tick, packets)

    def meeting(self, done: Streams, heads: Streams, joined: Streams, *, ends: bool) -> Meeting | None:
        """Heads and window, key by key; None if too little is known."""
        groups = self._grouped(done, joined)
        widths = [self.widths.row(s, ends=ends and len(s) > 1) for s in (done, joined)]
        key = self.widths.key(sorted(done), sorted(joined))
        if groups is None or key is None or widths[0] is None or widths[1] is None:
            return None
        left, right = self._arrivals(groups, done, heads), self._arrivals(groups.turned(), joined, joined)
        reach = self._life(joined)
        if left is None or right is None or reach is None:
            return None
        head, counted = widths[0], self._counted(joined)
        if len(done) == 1 and self._counted(done):
            head = Width(head.bytes + 8, head.columns + 1)
        return Meeting(
            keys=groups.keys,
            heads=left[0],
            head_rows=left[1],
            rows=right[0],
            window_rows=right[1],
            reach=reach,
            tick=self.tick,
            head=head,
            row=widths[1],
            key=key,
            counted=counted,
        )

    def _grouped(self, left: Streams, right: Streams) -> KeyGroups | None:
        if (left, right) not in self._groups:
            self._groups[left, right] = key_groups(self.sizes, left, right)
        return self._groups[left, right]

    def _arrivals(self, groups: KeyGroups, side: Streams, heads: Streams) -> tuple[Floats, Floats] | None:
        """How often keys of a group come with results of some streams, and how many results they have."""
        events, rows = np.zeros_like(groups.keys), np.zeros_like(groups.keys)
        for head in sorted(heads):
            rate, own = self.rate(side, [head]), self.rate(frozenset({head}))
            if rate is None or own is None:
                return None
            results = rate * groups.left
            rows += results
            if len(side) == 1 or head not in groups.own:
                events += results
                continue
            # A row that finds partners brings all its results at once.
            coming = own * groups.own[head]
            matches = np.divide(results, coming, out=np.zeros_like(results), where=coming > 0)
            events += coming * -np.expm1(-matches)
        return events, rows

    def _life(self, streams: Streams) -> float | None:
        """How long a row of a window lives, seconds: rows alive over rows that come (Little)."""
        (first, *others) = sorted(streams)
        reach = self.sizes.query.reaches[first]
        if not others and reach is not None and not self._counted(streams):
            return self.sizes.query.streams[first].window.mean_life_us(reach) / 1e6
        rate, alive = self.rate(streams), self.sizes.alive_together(streams).value
        if rate is None or alive is None:
            return None
        return alive / rate if rate else 0.0

    def _counted(self, streams: Streams) -> bool:
        return any(self.sizes.query.streams[s].window.counts_rows for s in streams)
