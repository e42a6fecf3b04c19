"""The question an order optimizer answers, and what several of them need for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from watersmeet.cost.orders import OrderProblem

# The order of all inputs, by head.
Sequences = dict[int, tuple[int, ...]]


class Orders(Protocol):
    """What a search over all orders asks."""

    @property
    def inputs(self) -> int:
        """How many inputs there are."""

    @property
    def heads(self) -> Iterable[int]:
        """The inputs whose new rows need an order."""

    def first(self, head: int) -> list[int]:
        """The inputs an order of a head may start with."""

    def next(self, head: int, bound: frozenset[int]) -> Iterator[int]:
        """The inputs an order may go on with."""

    def step(self, head: int, lead: int, bound: frozenset[int], part: int) -> float:
        """What it costs to visit one more input, in an order that starts with the lead."""


def with_head_first(problem: OrderProblem, order: Sequence[int]) -> Sequences:
    """One order of all inputs as every head runs it: with itself as far to the front as it may be."""
    found = {}
    for head in problem.heads:
        others = [part for part in order if part != head]
        if head in problem.first(head):
            found[head] = (head, *others)
        else:
            lead = next(part for part in others if part in problem.first(head))
            found[head] = (lead, head, *(part for part in others if part != lead))
    return found


def cheapest(problem: OrderProblem, candidates: Iterable[Sequences]) -> Sequences:
    """Per head the cheapest of several orders; of equal ones the first."""
    tried = list(candidates)
    return {
        head: min((one[head] for one in tried), key=lambda sequence: problem.cost(head, sequence))
        for head in problem.heads
    }
