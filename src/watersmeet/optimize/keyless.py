"""Inputs that no equality connects: how their rows meet.

sliced       two at a time; every bucket stores a part of both, and new rows look into all buckets. Nothing is
             stored twice but the results of one pair, which the next operator stores (Wang & Rundensteiner
             2009)
replicated   all at once: the first is spread over the buckets, all others go everywhere
aligned      all at once: the first is cut into segments of time, the others go where a partner may be
             ("aligned tuple routing", the baseline of the same paper); good for windows much shorter than a
             segment
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.errors import InvalidPlanning
from watersmeet.plan import Operator, Source
from watersmeet.query import JoinQuery

Part = Source | Operator
Pair = tuple[Part, Part]

SLICED, REPLICATED, ALIGNED = "sliced", "replicated", "aligned"
ROUTINGS = (SLICED, REPLICATED, ALIGNED)

# A segment is so many times as long as the rows of two inputs live together: the longer it is, the fewer rows
# are needed in two buckets.
_SEGMENT = 4


def connected_pairs(query: JoinQuery, parts: Sequence[Part]) -> list[Pair]:
    """The pairs of inputs that some condition connects, in the order of the inputs."""
    found = []
    for number, one in enumerate(parts):
        for other in parts[number + 1 :]:
            both, alone = {*one.streams, *other.streams}, (set(one.streams), set(other.streams))
            if any(c.streams <= both and not any(c.streams <= s for s in alone) for c in query.conditions):
                found.append((one, other))
    return found


def sliced(parts: Sequence[Part], pair: Pair) -> list[Part]:
    """The parts with two of them under one sliced operator."""
    rest = [part for part in parts if part not in pair]
    return [Operator(pair, (), frozenset(), (), sliced=True), *rest]


def may_be_sliced(query: JoinQuery) -> bool:
    """Rows counted per key are joined last and by that key, so nothing can be joined to their results."""
    return not any(stream.window.counts_per_key for stream in query.streams)


def replicated(parts: Sequence[Part]) -> Operator:
    """One operator over all inputs."""
    above = [part for part in parts if isinstance(part, Operator)]
    if len(above) == 1 and not above[0].sliced and above[0].segment is None:
        # They join the operator that is there instead of one of their own, so its results are not stored.
        inputs = above[0].inputs + tuple(part for part in parts if part not in above)
        return Operator(inputs, above[0].key, frozenset(range(len(above[0].inputs), len(inputs))), ())
    # The first is spread over the buckets, the others go everywhere.
    return Operator(tuple(parts), (), frozenset(range(1, len(parts))), ())


def aligned(query: JoinQuery, parts: Sequence[Part], segment: int | None) -> Operator:
    """One operator over all inputs, the first in segments (microseconds); None chooses their length."""
    if segment is None:
        segment = _SEGMENT * 2 * max(_reach(query, part) for part in parts)
    return Operator(tuple(parts), (), frozenset(range(1, len(parts))), (), segment=max(1, segment))


def _reach(query: JoinQuery, part: Part) -> int:
    reaches = [query.reaches[stream] for stream in part.streams]
    known = [reach for reach in reaches if reach is not None]
    if not known:
        raise InvalidPlanning(
            "rows cannot be aligned by time",
            f'nothing but a number of rows ends those of "{query.names[part.streams[0]]}".',
            'use routing="sliced", or give a condition on time.',
        )
    return min(known)
