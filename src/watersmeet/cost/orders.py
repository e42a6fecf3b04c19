"""What it costs to visit windows in some order.

A row that finds no partner in the first window needs no look into the others, so the order decides how many
combinations are ever formed (Golab & Özsu 2003, Sect. 5). New rows of the head come at once (eager) or as
all rows of a tick (lazy); then windows are as long as they can get within the tick, and the new rows need
not come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

from watersmeet.cost.sizes import UNIT_SECONDS, Sizes
from watersmeet.cost.visit import CostModel, Visit, probes
from watersmeet.plan import Operator
from watersmeet.plan.plan import TIME_SLICES_PER_WINDOW

# A window is spread over its slices, and the newest one is not yet in one piece.
_RUNS = TIME_SLICES_PER_WINDOW + 1


@dataclass(frozen=True, slots=True)
class Loop:
    """One input of an operator.

    Attributes:
        rate: Rows per second.
        alive: Rows alive at a time.
        distinct: Values of the key; the fewer, the more rows a probe finds.
        buckets: Hash buckets of a window without a real index.
        scanned: Whether it has no part in the key, so that all its rows are looked at.
        runs: In how many pieces its window is kept.
    """

    rate: float
    alive: float
    distinct: float = 1
    buckets: float = 1
    scanned: bool = False
    runs: float = 1


@dataclass(frozen=True)
class OrderProblem:
    """All that an optimizer may ask about one operator.

    Attributes:
        loops: Its inputs.
        match: How likely one row of each of some inputs belong together.
        key_match: The same for the equalities of the key alone: what an index finds.
        linked: Per input the others it has a condition with.
        model: The price of a visit.
        asking: What it costs to ask the functions that can be asked once an input is bound after others,
            for one combination, in units of the model.
        shared_match: As `key_match`, with the equalities that only some inputs share; None without any. A
            window is looked up by all it shares with the inputs that are bound.
        tick: The time between two batches; None processes every row at once.
    """

    loops: tuple[Loop, ...]
    match: Callable[[frozenset[int]], float]
    key_match: Callable[[frozenset[int]], float]
    linked: tuple[frozenset[int], ...]
    model: CostModel = probes
    tick: float | None = None
    asking: Callable[[frozenset[int], int], float] = lambda _bound, _part: 0.0
    shared_match: Callable[[frozenset[int]], float] | None = None
    _costs: dict[tuple[int, int, frozenset[int], int], float] = field(default_factory=dict)
    # Combinations and keys before a step, which every next input asks for.
    _so_far: dict[tuple[int, int, frozenset[int]], tuple[float, float]] = field(default_factory=dict)
    _shares: dict[tuple[frozenset[int], int], float] = field(default_factory=dict)

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.loops)

    @property
    def heads(self) -> range:
        """Every input has new rows."""
        return range(len(self.loops))

    def count(self, head: int, part: int) -> float:
        """How many rows of an input take part: the new ones of the head, those alive of another."""
        loop = self.loops[part]
        if self.tick is None:
            return 1.0 if part == head else loop.alive
        return loop.rate * self.tick if part == head else loop.alive + loop.rate * self.tick

    def runs(self, head: int) -> float:
        """How often per second the loops of a head run."""
        return self.loops[head].rate if self.tick is None else 1 / self.tick

    def size(self, head: int, bound: Iterable[int]) -> float:
        """How many combinations of some inputs there are in a run."""
        members = frozenset(bound)
        return self.match(members) * math.prod([self.count(head, part) for part in sorted(members)])

    def keys(self, head: int, lead: int, bound: Iterable[int]) -> float:
        """How many times a key of some inputs is looked up in a run, going through the rows of one of them.

        The values of the input with the fewest occur in all others, and each is there with the probability
        that at least one of so many rows has it. New rows lie in one piece; the keys of a window are gone
        through piece by piece, and those that are in several are looked up as often.
        """
        keyed = [part for part in bound if not self.loops[part].scanned]
        if not keyed:
            return 1.0
        total = min(self.loops[part].distinct for part in keyed)
        for part in keyed:
            loop = self.loops[part]
            rows = self.count(head, part) / loop.distinct
            if part == lead and part != head:
                total *= -math.expm1(-rows / loop.runs) * loop.runs
            else:
                total *= -math.expm1(-rows)
        return total

    def window_size(self, bound: Iterable[int]) -> float:
        """The same for whole windows, whoever is the head."""
        members = frozenset(bound)
        return self.match(members) * math.prod(self.loops[part].alive for part in sorted(members))

    def step(self, head: int, lead: int, bound: frozenset[int], part: int) -> float:
        """What it costs per second to visit one more input, in an order that starts with the lead."""
        known = self._costs.get((head, lead, bound, part))
        if known is None:
            rows, loop = self.count(head, part), self.loops[part]
            so_far = self._so_far.get((head, lead, bound))
            if so_far is None:
                so_far = self.size(head, bound), self.keys(head, lead, bound)
                self._so_far[head, lead, bound] = so_far
            # New rows have just come, in one piece.
            runs = 1 if part == head else loop.runs
            looked_at = self._found(bound, part) * rows
            if self.shared_match is not None:
                # All rows of the key, or a look-up in every run and those that share more.
                looked_at = min(looked_at, runs + _share(self.shared_match, bound, part) * rows)
            visit = Visit(
                combinations=so_far[0],
                looked_at=looked_at,
                rows=rows,
                buckets=loop.buckets,
                keys=so_far[1],
                runs=runs,
            )
            asked = so_far[0] * looked_at * self.asking(bound, part)
            known = self._costs[head, lead, bound, part] = (self.model(visit) + asked) * self.runs(head)
        return known

    def cost(self, head: int, sequence: Sequence[int]) -> float:
        """What a whole order of a head costs per second."""
        return sum(
            self.step(head, sequence[0], frozenset(sequence[:place]), sequence[place])
            for place in range(1, len(sequence))
        )

    def total(self, sequences: Mapping[int, Sequence[int]]) -> float:
        """What the orders of all heads cost per second."""
        return sum(self.cost(head, sequence) for head, sequence in sequences.items())

    def first(self, head: int) -> list[int]:
        """The inputs an order of a head may start with.

        It starts with the head where rows are processed at once. Rows with a key cannot be looked up by rows
        without one, so those never come first while there are others.
        """
        keyed = [part for part in self.heads if not self.loops[part].scanned]
        if self.tick is None and (head in keyed or not keyed):
            return [head]
        return keyed or [head]

    def next(self, head: int, bound: frozenset[int]) -> Iterator[int]:
        """The inputs an order may go on with."""
        rest = [part for part in self.heads if part not in bound]
        if self.tick is None and head not in bound:
            # Only a head without a key comes second: its rows are looked for from a window with one.
            rest = [head]
        yield from rest

    def _found(self, bound: frozenset[int], part: int) -> float:
        """The share of a window that the index gives a combination."""
        share = self._shares.get((bound, part))
        if share is None:
            keyed = frozenset(other for other in bound if not self.loops[other].scanned)
            share = 1.0 if self.loops[part].scanned or not keyed else _share(self.key_match, keyed, part)
            self._shares[bound, part] = share
        return share


def _share(match: Callable[[frozenset[int]], float], bound: frozenset[int], part: int) -> float:
    """How likely a row of an input belongs to a combination of others."""
    before = match(bound)
    return match(bound | {part}) / before if before else 0.0


def order_problem(operator: Operator, sizes: Sizes, model: CostModel = probes) -> OrderProblem | None:
    """The question for an optimizer; None if too little is known to put it."""
    streams = [frozenset(part.streams) for part in operator.inputs]
    own = [sizes.match(one) for one in streams]
    alive = [sizes.alive_together(one) for one in streams]
    rates = [sizes.arriving(one) for one in streams]
    pairs = [sizes.match(one | other) for one, other in combinations(streams, 2)]
    if not all(figure.is_known for figure in (*own, *alive, *rates, *pairs)):
        return None
    scanned = operator.replicated if operator.key else frozenset[int]()

    @cache
    def union(parts: frozenset[int]) -> frozenset[int]:
        return frozenset[int]().union(*(streams[part] for part in parts))

    @cache
    def match(parts: frozenset[int]) -> float:
        inside = math.prod(own[part].number for part in parts)
        return sizes.match(union(parts)).number / inside if inside else 0.0

    def match_on(attributes: tuple[int, ...]) -> Callable[[frozenset[int]], float]:
        own_match = [sizes.match(one, attributes).number for one in streams]

        @cache
        def match(parts: frozenset[int]) -> float:
            inside = math.prod(own_match[part] for part in parts)
            return sizes.match(union(parts), attributes).number / inside if inside else 0.0

        return match

    loops = tuple(
        Loop(
            rate=rates[i].number,
            alive=alive[i].number,
            distinct=_distinct(operator, sizes, i),
            buckets=1,
            scanned=i in scanned,
            runs=_RUNS,
        )
        for i in range(len(streams))
    )
    tick = sizes.statistics.batch_seconds.value or None
    linked = _linked(operator, sizes, streams)
    return OrderProblem(
        loops=loops,
        match=match,
        key_match=match_on(operator.key),
        linked=linked,
        model=model,
        tick=tick,
        asking=_asking(operator, sizes, streams),
        shared_match=match_on((*operator.key, *operator.checks)) if operator.checks else None,
    )


def _asking(
    operator: Operator, sizes: Sizes, streams: Sequence[frozenset[int]]
) -> Callable[[frozenset[int], int], float]:
    """What functions cost at a step: those whose last row is bound there, or that wait for the last."""
    functions = [
        (number, condition.streams, sizes.asking(condition) / UNIT_SECONDS)
        for number in operator.conditions
        if (condition := sizes.query.conditions[number]).function is not None
    ]

    @cache
    def asking(bound: frozenset[int], part: int) -> float:
        before = frozenset[int]().union(*(streams[one] for one in bound))
        after = before | streams[part]
        last = len(bound) + 1 == len(streams)
        return sum(
            cost
            for number, needed, cost in functions
            if (last if number in operator.late else needed <= after and not needed <= before)
        )

    return asking


def _distinct(operator: Operator, sizes: Sizes, part: int) -> float:
    """Values of the key an input has; without a key all rows are of one."""
    if not operator.key:
        return 1.0
    streams = operator.inputs[part].streams
    found = [figure.number for s in streams if (figure := sizes.distinct(operator.key, s)).is_known]
    # Where only the matches of pairs are known, every row is taken to have a key of its own.
    return max(1.0, min(found, default=sizes.alive_together(streams).number))


def _linked(
    operator: Operator, sizes: Sizes, streams: Sequence[frozenset[int]]
) -> tuple[frozenset[int], ...]:
    query = sizes.query
    edges = [set(query.attributes[number].streams) for number in (*operator.key, *operator.checks)]
    edges += [set(query.conditions[number].streams) for number in operator.conditions]
    return tuple(
        frozenset(
            other
            for other in range(len(streams))
            if other != part and any(edge & streams[part] and edge & streams[other] for edge in edges)
        )
        for part in range(len(streams))
    )
