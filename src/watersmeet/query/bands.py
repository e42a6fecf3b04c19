"""Time bands: conditions that bound how far apart the event times of two streams are.

    b.ts BETWEEN a.ts AND a.ts + INTERVAL 60 SECONDS      a.ts - b.ts <= 0,  b.ts - a.ts <= 60 s

Each is an edge of a graph, "b is at most 60 s later than a". A window is one too: nothing in a result is
later than a row by more than the row's window. The shortest paths between all pairs say how much later a
row of one stream can be than a row of another; a cycle of negative length says that no rows can ever meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.errors import InvalidQuery
from watersmeet.query.expression import Call, Constant, Expression, Field, call
from watersmeet.query.stream import Stream

_MIRRORED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "=": "="}


@dataclass(frozen=True, slots=True)
class Bound:
    """Rows of `later` are at most `most_us` later than the rows of `earlier` they meet.

    Where it has an `owner`, an optional stream, only in results that have a row of it.
    """

    earlier: int
    later: int
    most_us: int
    reason: str
    owner: int | None = None


class Distances(NamedTuple):
    """How much later (microseconds) a row of stream j can be than one of stream i; None is no limit."""

    most_us: tuple[tuple[int | None, ...], ...]

    def reach(self, stream: int) -> int | None:
        """How long a row has to wait for the last of its partners; None is for ever."""
        row = self.most_us[stream]
        return None if None in row else max(0, *(most for most in row if most is not None))


def bounds_of(condition: Expression, streams: Sequence[Stream], reason: str) -> tuple[Bound, ...] | None:
    """The bounds that together say just what a condition says; None if no bounds do."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    left, right = condition.arguments
    if condition.function == "=":
        return _all(bounds_of(call(f, left, right), streams, reason) for f in ("<=", ">="))
    if condition.function in (">", ">="):
        return bounds_of(call(_MIRRORED[condition.function], right, left), streams, reason)
    # left <= right or left < right from here on.
    if isinstance(left, Call) and left.function == "greatest":
        parts = [call(condition.function, part, right) for part in left.arguments]
    elif isinstance(right, Call) and right.function == "least":
        parts = [call(condition.function, left, part) for part in right.arguments]
    elif isinstance(left, Call) and left.function == "abs":
        inner = left.arguments[0]
        parts = [call(condition.function, x, right) for x in (inner, call("negate", inner))]
    else:
        bound = _bound(left, right, streams, strict=condition.function == "<", reason=reason)
        return None if bound is None else (bound,)
    return _all(bounds_of(part, streams, reason) for part in parts)


def distances(streams: int, bounds: Sequence[Bound]) -> Distances:
    """The shortest paths between all pairs of streams (Floyd and Warshall).

    >>> band = [Bound(0, 1, 60, "b"), Bound(1, 0, 0, "b"), Bound(1, 2, 300, "c"), Bound(2, 1, 0, "c")]
    >>> distances(3, band).most_us
    ((0, 60, 360), (0, 0, 300), (0, 0, 0))
    """
    most: list[list[int | None]] = [[0 if i == j else None for j in range(streams)] for i in range(streams)]
    via: dict[tuple[int, int], tuple[Bound, ...]] = {}
    for bound in bounds:
        known = most[bound.earlier][bound.later]
        if bound.earlier != bound.later and (known is None or bound.most_us < known):
            most[bound.earlier][bound.later] = bound.most_us
            via[bound.earlier, bound.later] = (bound,)
    for k in range(streams):
        for i in range(streams):
            for j in range(streams):
                first, second, known = most[i][k], most[k][j], most[i][j]
                if first is None or second is None or (known is not None and first + second >= known):
                    continue
                path = via.get((i, k), ()) + via.get((k, j), ())
                if i == j:
                    raise _contradiction(path, first + second)
                most[i][j], via[i, j] = first + second, path
    return Distances(tuple(map(tuple, most)))


def _all(parts: Iterator[tuple[Bound, ...] | None]) -> tuple[Bound, ...] | None:
    found: tuple[Bound, ...] = ()
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _bound(
    left: Expression, right: Expression, streams: Sequence[Stream], *, strict: bool, reason: str
) -> Bound | None:
    """The bound that says left <= right (or left < right), if both are times plus a constant."""
    one, two = _linear(left, streams), _linear(right, streams)
    if one is None or two is None:
        return None
    signs = {stream: one[0].get(stream, 0) - two[0].get(stream, 0) for stream in {*one[0], *two[0]}}
    signs = {stream: sign for stream, sign in signs.items() if sign}
    if sorted(signs.values()) != [-1, 1]:
        return None
    earlier, later = sorted(signs, key=lambda stream: signs[stream])
    # Times are whole microseconds, so "less" is "at most one less".
    return Bound(earlier, later, two[1] - one[1] - strict, reason)


def _linear(expression: Expression, streams: Sequence[Stream]) -> tuple[dict[int, int], int] | None:
    """An expression as a sum of event times and a constant: how often each stream's, and the constant."""
    if isinstance(expression, Field):
        return ({expression.stream: 1}, 0) if expression.column == streams[expression.stream].time else None
    if isinstance(expression, Constant):
        return ({}, int(expression.value)) if expression.type == "interval" else None
    if expression.type not in ("timestamp", "interval") or expression.function not in ("+", "-", "negate"):
        return None
    parts = [_linear(argument, streams) for argument in expression.arguments]
    signs = [-1] if expression.function == "negate" else [1, 1 if expression.function == "+" else -1]
    counts: dict[int, int] = {}
    total = 0
    for part, sign in zip(parts, signs, strict=True):
        if part is None:
            return None
        for stream, count in part[0].items():
            counts[stream] = counts.get(stream, 0) + sign * count
        total += sign * part[1]
    return counts, total


def _contradiction(path: Sequence[Bound], length: int) -> InvalidQuery:
    reasons = list(dict.fromkeys(bound.reason for bound in path))
    return InvalidQuery(
        "the conditions on time contradict each other, so nothing can ever join",
        f"{'; '.join(reasons)}: followed round, a row would be {-length / 1e6:g} s earlier than itself.",
        "change one of them.",
    )
