"""The question of orders put to a sample of the keys a bucket holds, instead of to statistics about them.

With the rows of each sampled key at hand nothing has to be assumed about how values spread: what the kernel
will do can be counted. It looks every key of the first input up in the other windows one after the other
and forgets the keys some window does not have; then it goes through the combinations of the keys that are
left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from watersmeet.stats.key_sample import KeySample


@dataclass(frozen=True, slots=True)
class Shared:
    """Values that some inputs share beside the key.

    Attributes:
        inputs: The inputs that have them.
        agree: How likely two rows of a key, of two of them, have equal ones.
    """

    inputs: frozenset[int]
    agree: float


class SampledOrders:
    """The orders of one head over a sample; costs are look-ups and rows of the sampled keys alone.

    Attributes:
        stages: Whether conditions are judged on the way; then a window further on does not save looking at
            rows.
        shared: By what windows are looked up beside the key.
    """

    def __init__(
        self, sample: KeySample, head: int, *, stages: bool = False, shared: Sequence[Shared] = ()
    ) -> None:
        """Prepare for the questions of an optimizer."""
        self._sample = sample
        self._head = head
        self._stages = stages
        self._shared = shared
        present = sample.rows > 0
        self._present = present
        everywhere = present.all(axis=1)
        self._rows = sample.rows if stages else sample.rows[everywhere]
        self._known: dict[tuple[int | None, frozenset[int]], float] = {}

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self._sample.runs)

    @property
    def heads(self) -> list[int]:
        """The input whose new rows are looked at."""
        return [self._head]

    def first(self, head: int) -> list[int]:
        """Any input with a key may lead: the new rows are all there."""
        keyed = [part for part in range(self.inputs) if not self._sample.scanned[part]]
        return keyed or [head]

    def next(self, _head: int, bound: frozenset[int]) -> Iterator[int]:
        """Whatever is left."""
        return (part for part in range(self.inputs) if part not in bound)

    def step(self, _head: int, lead: int, bound: frozenset[int], part: int) -> float:
        """Look-ups of the keys that are still there, and the rows of the combinations they lead to.

        A key is looked up once for every run of the lead that has it. Where more than the key is shared,
        every combination is looked up by that, unless there are fewer rows to look at.
        """
        after = bound | {part}
        rows, agree = self._combinations(after), self._agree(bound)
        looked_at = rows * agree
        if self._agree(after) < agree:
            searches = self._combinations(bound) * agree * self._sample.runs[part]
            looked_at = min(looked_at, searches + rows * self._agree(after))
        return self._keys(lead, bound) * self._sample.runs[part] + looked_at

    def cost(self, head: int, sequence: tuple[int, ...]) -> float:
        """What a whole order costs."""
        return sum(
            self.step(head, sequence[0], frozenset(sequence[:place]), sequence[place])
            for place in range(1, len(sequence))
        )

    def _keys(self, lead: int, bound: frozenset[int]) -> float:
        """Keys that some inputs all have, as often as they stand in runs of the lead."""
        found = self._known.get((lead, bound))
        if found is None:
            everywhere = self._present[:, sorted(bound)].all(axis=1)
            found = self._known[lead, bound] = float(self._sample.copies[everywhere, lead].sum())
        return found

    def _agree(self, bound: frozenset[int]) -> float:
        """How likely rows of one key, one of each of some inputs, agree on all else they share."""
        return prod(one.agree ** max(0, len(one.inputs & bound) - 1) for one in self._shared)

    def _combinations(self, bound: frozenset[int]) -> float:
        """Combinations of rows of the same key."""
        found = self._known.get((None, bound))
        if found is None:
            found = self._known[None, bound] = float(self._rows[:, sorted(bound)].prod(axis=1).sum())
        return found
