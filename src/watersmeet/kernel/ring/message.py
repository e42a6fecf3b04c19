"""What nodes of a ring send to the next one.

    build    a row that has grown too old for the node before: keep it
    probe    a row that has arrived: let go of what is too old for it, then look for partners
    inter    a partial result: look for partners of the next stream

A partial result remembers where it was born, and ends when it has come round. Of all those of one arriving
row that the first node makes in a round, the last one carries an END with the number of the round; where
there is none, an empty one does. For M streams there are M - 1: the last follows nothing but results, so it
is always empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """A row of a stream.

    Attributes:
        stream: The number of its stream.
        id: Its number among the rows of all streams, in the order they arrived.
        place: When it arrived, microseconds; in a window of rows, its number in its stream.
        value: What predicates look at.
    """

    stream: int
    id: int
    place: int
    value: Any = None


class Build(NamedTuple):
    """Keep this row."""

    row: Row


class Probe(NamedTuple):
    """A row that has arrived looks for partners.

    Attributes:
        row: The row.
        clocks: Per stream the place of a row of age 0: the time of the row, or the number of the newest row.
    """

    row: Row
    clocks: tuple[int, ...]


class Inter(NamedTuple):
    """A partial result, or only the END of a round.

    Attributes:
        rows: Its rows in the order they were bound, the one that arrived first; none in an empty one.
        input: The id of the row that arrived.
        born: The node that made it.
        end: The number of the round that ends with it, from 1; 0 in all but the last of a round.
    """

    rows: tuple[Row, ...]
    input: int
    born: int
    end: int = 0

    @property
    def schema(self) -> frozenset[int]:
        """The streams that are bound.

        >>> sorted(Inter((Row(2, 7, 0), Row(0, 5, 0)), input=7, born=1).schema)
        [0, 2]
        """
        return frozenset(row.stream for row in self.rows)


Message = Build | Probe | Inter
# One row of each stream, in the order of the streams.
Result = tuple[Row, ...]
