"""The question of orders put to a sample of the keys a bucket holds, instead of to statistics about them.

With the rows of each sampled key at hand nothing has to be assumed about how values spread: what the kernel
will do can be counted. It looks every key of the first input up in the other windows one after the other
and forgets the keys some window does not have; then it goes through the combinations of the keys that are
left.
"""

from __future__ import annotations

from collections.abc import Iterator

from watersmeet.stats.key_sample import KeySample


class SampledOrders:
    """The orders of one head over a sample; costs are look-ups and rows of the sampled keys alone.

    Attributes:
        stages: Whether conditions are judged on the way; then a window further on does not save looking at
        rows.
    """

    def __init__(self, sample: KeySample, head: int, *, stages: bool = False) -> None:
        """Prepare for the questions of an optimizer."""
        self._sample = sample
        self._head = head
        self._stages = stages
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

        A key is looked up once for every run of the lead that has it.
        """
        return self._keys(lead, bound) * self._sample.runs[part] + self._combinations(bound | {part})

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

    def _combinations(self, bound: frozenset[int]) -> float:
        """Combinations of rows of the same key."""
        found = self._known.get((None, bound))
        if found is None:
            found = self._known[None, bound] = float(self._rows[:, sorted(bound)].prod(axis=1).sum())
        return found
