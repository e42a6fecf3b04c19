"""Probe orders that follow the data: each bucket decides for itself, from what its own windows hold.

Nothing is coordinated. A path only says in which order windows are visited; whatever it is, new rows find
the same combinations, so a bucket may change it between two inputs of a batch without losing or repeating a
result.

A bucket looks at its keys when the rows of some window have moved by a quarter since it last did, or after
some batches in any case, since keys can change while numbers do not. It changes a path only when another is
better by a margin: between two that cost about the same it stays with the one it has.

Keys are sampled; what rows of a key share beside it is not. How often that agrees is learnt from the look-ups
by it (`kernel.narrow`), which count how many rows the key had and how many were left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from watersmeet.optimize.order.exhaustive import exhaustive
from watersmeet.optimize.order.sampled import SampledOrders, Shared
from watersmeet.optimize.search_steps import NoStepsLeft, SearchSteps
from watersmeet.plan import Operator, ProbePath
from watersmeet.query import JoinQuery
from watersmeet.stats.key_sample import KeySample

# Rows of a window that moved by less than this factor are taken for the same.
_MOVED = 1.25
# Batches after which keys are looked at in any case.
_AT_LEAST_EVERY = 8
# A new path has to be cheaper than the current one by this factor.
_BETTER = 1.1
# Fewer keys than this, of more that were not sampled, say little: wait for others.
_FEWEST_KEYS = 16
# Steps of a search: all orders of up to seven inputs, from any of them.
_SEARCH_STEPS = 2_048
# Before anything is known about values that rows share: of so many rows of a key one has the same.
_ONE_IN = 10
# What was learnt before counts so much of what is learnt now.
_OF_BEFORE = 0.5

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a checkpoint keeps of the paths of a bucket.

    Attributes:
        planned: The orders of the plan; where a restart brings others, it starts from those.
        heads: By input the order in use, the rows of every input when it was chosen, and for how many looks
            it was left alone.
        agreed: By attribute the rows of a key that were looked up by it, and how many had the value.
    """

    planned: tuple[Order, ...]
    heads: tuple[tuple[Order, tuple[int, ...], int], ...]
    agreed: tuple[tuple[int, float, float], ...] = ()


@dataclass(slots=True)
class HeadState:
    """What a bucket remembers about the path of one input.

    Attributes:
        path: The path in use.
        rows: How many rows each input had when it was chosen.
        age: For how many batches it was not looked at.
    """

    path: ProbePath
    rows: tuple[int, ...] = ()
    age: int = 0


@dataclass(slots=True)
class Adaptive:
    """The paths of one bucket of an operator; small plain data, so that a checkpoint can hold it.

    Attributes:
        heads: By input.
        stages: Whether conditions are judged between windows.
        planned: The orders of the plan.
        sharing: By attribute that only some inputs share, these inputs.
        changes: How many paths were changed since the count was last taken.
        agreed: As `Remembered` has it.
    """

    heads: list[HeadState]
    stages: bool
    planned: tuple[Order, ...] = ()
    sharing: Mapping[int, frozenset[int]] = field(default_factory=dict)
    changes: int = field(default=0)
    agreed: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, query: JoinQuery, operator: Operator) -> Adaptive:
        """Start from the paths of the plan."""
        stages = bool(operator.conditions or operator.checks)
        planned = tuple(path.sequence for path in operator.paths)
        sharing = {number: operator.having(query, number) for number in operator.checks}
        return cls([HeadState(path) for path in operator.paths], stages, planned, sharing)

    @property
    def paths(self) -> list[ProbePath]:
        """The path of every input now."""
        return [state.path for state in self.heads]

    def recall(self, remembered: Remembered) -> None:
        """Go on from paths that were found under the same plan."""
        if remembered.planned == self.planned:
            self.heads = [
                HeadState(ProbePath.of(head, order), rows, age)
                for head, (order, rows, age) in enumerate(remembered.heads)
            ]
            self.agreed = {number: (rows, left) for number, rows, left in remembered.agreed}

    def remember(self) -> Remembered:
        """What to start from after the next batch."""
        return Remembered(
            self.planned,
            tuple((state.path.sequence, state.rows, state.age) for state in self.heads),
            tuple((number, rows, left) for number, (rows, left) in sorted(self.agreed.items())),
        )

    def learn(self, agreed: Mapping[tuple[int, ...], tuple[int, int]]) -> None:
        """Take note of look-ups by more than the key; see `watersmeet.kernel.sampling.PathPlanner`."""
        for attributes, (rows, left) in agreed.items():
            # Of several attributes, each is taken to have its part.
            own = rows * (left / rows) ** (1 / len(attributes))
            for number in attributes:
                rows_before, left_before = self.agreed.get(number, (0.0, 0.0))
                self.agreed[number] = _OF_BEFORE * rows_before + rows, _OF_BEFORE * left_before + own

    def _shared(self) -> list[Shared]:
        """What is known about values that rows share beside the key."""
        known = {number: self.agreed.get(number, (0.0, 0.0)) for number in self.sharing}
        return [
            Shared(inputs, (known[number][1] + 1) / (known[number][0] + _ONE_IN))
            for number, inputs in self.sharing.items()
        ]

    def path(self, head: int, rows: Sequence[int], look: Callable[[], KeySample]) -> ProbePath:
        """The path for new rows of an input; see `watersmeet.kernel.sampling.PathPlanner`."""
        state = self.heads[head]
        state.age += 1
        if state.rows and state.age < _AT_LEAST_EVERY and not _moved(state.rows, rows):
            return state.path
        state.rows, state.age = tuple(rows), 0
        sample = look()
        if not sample.keys or (sample.share < 1 and sample.keys < _FEWEST_KEYS):
            return state.path
        orders = SampledOrders(sample, head, stages=self.stages, shared=self._shared())
        try:
            best = exhaustive(orders, SearchSteps(_SEARCH_STEPS))[head]
        except NoStepsLeft:
            best = _nearest_first(orders, head)
        if orders.cost(head, state.path.sequence) > _BETTER * orders.cost(head, best):
            state.path = ProbePath.of(head, best)
            self.changes += 1
        return state.path

    def take_changes(self) -> int:
        """The number of changes, starting anew."""
        changes, self.changes = self.changes, 0
        return changes


def _moved(before: Sequence[int], now: Sequence[int]) -> bool:
    return any(max(old, new) > _MOVED * min(old, new) for old, new in zip(before, now, strict=True))


def _nearest_first(orders: SampledOrders, head: int) -> tuple[int, ...]:
    """Step by step to whatever costs least, where all orders are too many."""
    order = [head if head in orders.first(head) else orders.first(head)[0]]
    while len(order) < orders.inputs:
        bound = frozenset(order)
        order.append(
            min(orders.next(head, bound), key=lambda part: (orders.step(head, order[0], bound, part), part))
        )
    return tuple(order)
