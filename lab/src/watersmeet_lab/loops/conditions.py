"""What belongs together: equal values, or for some pairs of streams any relation of their values.

On one common attribute equality with any row that is bound already is equality with all of them, so one
comparison is enough. Any other relation has to be asked of every pair. The paper compares with the new row in
one place, with the first row in another and with the neighbour in a third, which agree for equalities only.

With equalities and other relations in one join, a loop looks into a hash bucket where an equality tells which
one, and scans the window where none does: the paper's hybrid of hash join and nested loops (Sect. 3.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from watersmeet_lab.loops.arrival import Arrival

# Whether the value of one stream and that of a stream with a higher number belong together.
Relation = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a join.

    Attributes:
        relations: By pair of streams, the smaller first, what their values must satisfy; all other pairs must
            be equal.

    >>> near = Conditions({(0, 1): lambda one, other: abs(one - other) <= 2})
    >>> near.hold(Arrival(2, 1, 0, value=5), {0: Arrival(1, 0, 0, value=3)})
    True
    >>> near.wanted(1, {0: Arrival(1, 0, 0, value=3)}) is None
    True
    """

    relations: Mapping[tuple[int, int], Relation] = field(default_factory=dict)

    def wanted(self, stream: int, bound: Mapping[int, Arrival]) -> int | None:
        """The value a row of a stream must have, if an equality with a bound row tells."""
        for other, row in bound.items():
            if _pair(stream, other) not in self.relations:
                return row.value
        return None

    def hold(self, row: Arrival, bound: Mapping[int, Arrival]) -> bool:
        """Whether a row belongs to those that are bound."""
        if not self.relations:
            # The first that was bound will do; the outermost row has nobody to equal but itself.
            return row.value == next(iter(bound.values()), row).value
        return all(self._related(row, other) for other in bound.values())

    def _related(self, row: Arrival, other: Arrival) -> bool:
        relation = self.relations.get(_pair(row.stream, other.stream))
        if relation is None:
            return row.value == other.value
        low, high = (row, other) if row.stream < other.stream else (other, row)
        return relation(low.value, high.value)


EQUAL = Conditions()


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
