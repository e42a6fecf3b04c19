"""Semi joins: a row of the first input that has partners in all others comes out, once.

It comes out when the watermark reaches the first moment at which such partners are alive with it. All rows up
to that moment are known then, so it does not matter in which batches they came:

    time      ---- watermark before ============ watermark . . . . .
    first     |=================================================|
    other        |===|                    ^ this one changes nothing: the row came out with the first
    other                            |===|

Nobody remembers which rows have come out. Partners are kept for as long as a row of the first input can need
them, and a row that has found a new one is asked for its first moment once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from watersmeet.kernel.around import AroundJoin
from watersmeet.kernel.combinations import Combinations, Places
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.partners import Partners
from watersmeet.kernel.results import Results, fetch
from watersmeet.kernel.run import Rows, Run
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout

# Before every time, and after the end of time.
_NEVER, _NO_MOMENT = -(1 << 62), (1 << 63) - 1


@dataclass(slots=True)
class SemiJoin(AroundJoin):
    """One bucket of an operator of kind semi.

    Attributes:
        partners: Who looks for partners.
        closed: What came about up to this time has left.
    """

    partners: Partners
    closed: int = _NEVER
    leaves_complete: ClassVar[bool] = False

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> SemiJoin:
        """An empty join for an operator of a plan."""
        inner = MultiwayJoin.from_plan(plan, operator, layout, new_id)
        return cls(inner, Partners(inner))

    @property
    def windows(self) -> list[StoredWindow]:
        """All that is stored."""
        return self.inner.windows

    def on_rows(self, number: int, new: Rows) -> Iterator[Results]:
        """Take new rows; they wait for the watermark."""
        return self.met(number, self.inner.in_time(number, new))

    def met(self, part: int, new: Rows) -> Iterator[Results]:
        """Store new rows, whatever the watermark."""
        self.inner.store(part, new)
        return iter(())

    def on_batch(self, until: int) -> Iterator[Results]:
        """All rows up to a time are here: what has its first partners by then comes out."""
        after, self.closed = self.closed, max(self.closed, until)
        if until <= after:
            return
        others = list(range(1, len(self.windows)))
        for rows in self._candidates(after, until):
            first = np.full(len(rows), _NO_MOMENT)
            for numbers, found in self.partners.of(rows, others):
                np.minimum.at(first, numbers, found.starts)
            chosen = (first > after) & (first <= until)
            if chosen.any():
                alone = replace(rows.take(chosen), starts=first[chosen], carried=())
                self.inner.counts.results += len(alone)
                yield from fetch(self.partners.without(alone, others), self.inner.leaving)

    def next_expiry(self) -> int | None:
        """The watermark at which something can be dropped, or comes about."""
        times = [time for window in self.windows if (time := window.next_expiry()) is not None]
        times += [
            max(stored.earliest, self.closed + 1)
            for window in self.windows
            for stored in window.runs
            if stored.end > self.closed
        ]
        return min((time for time in times if time > self.closed), default=None)

    def on_watermark(self, watermark: int) -> None:
        """Drop what is not needed any more, and tidy up."""
        self.inner.on_watermark(watermark)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs."""
        return self.inner.save() | {"closed": self.closed}

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        self.inner.load(kept)
        self.closed = kept.get("closed", _NEVER)

    def _candidates(self, after: int, until: int) -> Iterator[Combinations]:
        """Rows of the first input that are new, and older ones that have a new partner."""
        yield from self.partners.rows(0, self._runs(0, after, until), _times, after, until)
        scanned = self.inner.routes.scanned
        if scanned:
            # New rows without a key cannot look for others: all that are alive look for them.
            older = [one for one in self.windows[0].runs if one.end > after]
            yield from self.partners.rows(0, older, _times, _NEVER, after)
            return
        inputs = range(len(self.windows))
        met: dict[str, tuple[Run, list[Any]]] = {}
        for part in inputs[1:]:
            rest = [other for other in inputs if other != part]
            for heads in self.partners.rows(part, self._runs(part, after, until), _times, after, until):
                for _, found in self.partners.of(heads, rest):
                    _note(met, found.take(found.starts <= until).places[0])
        for run, numbers in met.values():
            rows = np.unique(np.concatenate(numbers))
            rows = rows[run.times[rows] <= after]
            place = Places([run], np.zeros(len(rows), np.int64), rows)
            yield Combinations({0: place}, run.times[rows], self.partners.ends(0, run)[rows], ())

    def _runs(self, part: int, after: int, until: int) -> list[StoredRun]:
        """Runs that may have rows with a time between two others."""
        return [one for one in self.windows[part].runs if one.end > after and one.earliest <= until]


def _note(met: dict[str, tuple[Run, list[Any]]], place: Places) -> None:
    """Remember rows by their runs, which may be opened anew each time."""
    for number, (name, run) in enumerate(zip(place.names, place.runs, strict=True)):
        rows = place.rows[place.owners == number]
        if len(rows):
            met.setdefault(name, (run, []))[1].append(rows)


def _times(run: Run) -> Any:
    return run.times
