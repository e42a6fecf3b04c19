"""The paper taken at its word, which loses results: a check that the tests of the ring would see it."""

from collections import Counter

import pytest

from harness.ring import (
    Combination,
    Host,
    random_history,
    reference,
    seeded,
    three_streams,
)
from watersmeet.kernel.ring import ring as ring_module
from watersmeet.kernel.ring.message import Build, Inter, Row
from watersmeet.kernel.ring.node import Node, Outcome
from watersmeet.kernel.ring.ring import Ring, equal_ends


class DropsBeforeComparing(Node):
    """Steps 2-2 and 3-1 as printed: what is dropped is not compared."""

    def _compare(self, rows: tuple[Row, ...], arrived: int, outcome: Outcome) -> None:
        if outcome.forwarded and not isinstance(outcome.forwarded[-1], Build):
            super()._compare(rows, arrived, outcome)


class ForgetsEarly(Node):
    """Marks dropped with END number M - 2."""

    def _inter(self, message: Inter) -> Outcome:
        outcome = super()._inter(message)
        if message.end == self._last_end - 1:
            self._forget(message.input)
        return outcome


class TrustsTheTail(Node):
    """Limits by number, and only the last node looks at ages."""

    def _purge(self, stream: int, clock: int, outcome: Outcome) -> None:
        if self.tail:
            super()._purge(stream, clock, outcome)
        else:
            rows = self.slices[stream].move(max(0, len(self.slices[stream]) - 2))
            outcome.forwarded += map(Build, rows)


@pytest.mark.parametrize("literal", [DropsBeforeComparing, ForgetsEarly, TrustsTheTail])
def test_the_paper_at_its_word_is_wrong(literal: type[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the same run with our nodes is right."""

    def run(node: type[Node]) -> tuple[Counter[Combination], Counter[Combination]]:
        monkeypatch.setattr(ring_module, "Node", node)
        ring = Ring(join, equal_ends(join, 4), in_flight=3)
        for each in ring.nodes:
            each.limits = [2, 2, 2]
        found = Host(ring, seeded(5)).run(history)
        return found - expected, expected - found

    join = three_streams()
    history = random_history(seeded(4), 3, 150)
    expected = reference(join, history)
    assert run(Node) == (Counter(), Counter())
    more, less = run(literal)
    # A row that has outlived its window makes results that are none.
    assert more if literal is TrustsTheTail else less
