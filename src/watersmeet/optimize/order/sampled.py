"""The question of orders put to a sample of the keys a bucket holds, instead of to statistics about them.

With the rows of each sampled key at hand nothing has to be assumed about how values spread: what the kernel
will do can be counted. It looks every key of the first input up in the other windows one after the other
and forgets the keys some window does not have; then it goes through the combinations of the keys that are
left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
        self._known: dict[frozenset[int], tuple[float, float]] = {}

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

    def step(self, _head: int, bound: frozenset[int], part: int) -> float:
        """Look-ups of the keys that are still there, and the rows of the combinations they lead to."""
        keys, _ = self._size(bound)
        _, rows = self._size(bound | {part})
        return keys * self._sample.runs[part] + rows

    def cost(self, head: int, sequence: tuple[int, ...]) -> float:
        """What a whole order costs."""
        return sum(
            self.step(head, frozenset(sequence[:place]), sequence[place]) for place in range(1, len(sequence))
        )

    def _size(self, bound: frozenset[int]) -> tuple[float, float]:
        """Keys that some inputs all have, and combinations of their rows."""
        found = self._known.get(bound)
        if found is None:
            columns = sorted(bound)
            keys = np.count_nonzero(self._present[:, columns].all(axis=1))
            found = self._known[bound] = (float(keys), float(self._rows[:, columns].prod(axis=1).sum()))
        return found
