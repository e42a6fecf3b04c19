"""The tree of operators for a join graph, when nothing is known about the data.

Streams that share a key meet in one operator, however many they are (Zhou et al. 2006, Sect. 4.2: operators
on the same attribute are merged): nothing between them is stored. Where the key changes, the results of one
operator are an input of the next.

    a.x = b.x, b.x = c.x, c.y = d.y            d ----+
                                                     +-- y
                                a, b, c -- x --------+

An input without an equality to the others goes to every bucket of an operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.optimize.order import shortest_reach_first
from watersmeet.plan import Operator, Source
from watersmeet.query import JoinQuery, RowWindow

Part = Source | Operator


def merged_tree(query: JoinQuery) -> Operator:
    """Operators on the attribute most inputs share, until one is left; ties as the user wrote them."""
    parts: list[Part] = [Source(stream) for stream in range(len(query.streams))]
    while groups := _groups(query, parts):
        # Rows counted per key are best joined last: only there is it known when a result comes about.
        members, key = max(
            groups, key=lambda group: (not _per_key(query, group[0]), len(group[0]), len(group[1]))
        )
        parts = [part for part in parts if part not in members]
        parts.append(Operator(tuple(members), key, frozenset(), ()))
    return _finished(query, _under_one(parts), set())


def _under_one(parts: Sequence[Part]) -> Operator:
    """One operator over inputs that no equality links."""
    above = [part for part in parts if isinstance(part, Operator)]
    if len(above) == 1:
        # They join the operator that is there instead of one of their own, so its results are not stored.
        inputs = above[0].inputs + tuple(part for part in parts if part not in above)
        return Operator(inputs, above[0].key, frozenset(range(len(above[0].inputs), len(inputs))), ())
    # The first is spread over the buckets, the others go everywhere.
    return Operator(tuple(parts), (), frozenset(range(1, len(parts))), ())


def _finished(query: JoinQuery, shape: Operator, evaluated: set[int]) -> Operator:
    """The same tree with conditions as far down as they can be evaluated, and probe paths."""
    inputs = tuple(
        part if isinstance(part, Source) else _finished(query, part, evaluated) for part in shape.inputs
    )
    streams = set(shape.streams)
    ready = tuple(
        number
        for number, condition in enumerate(query.conditions)
        if number not in evaluated and condition.streams <= streams
    )
    evaluated.update(ready)
    checks = tuple(
        number
        for number, attribute in enumerate(query.attributes)
        if number not in shape.key
        and sum(bool(set(part.streams) & set(attribute.streams)) for part in inputs) > 1
    )
    paths = shortest_reach_first(query, inputs, shape.replicated)
    return Operator(inputs, shape.key, shape.replicated, paths, ready, checks)


def _groups(query: JoinQuery, parts: Sequence[Part]) -> list[tuple[list[Part], tuple[int, ...]]]:
    """Per attribute the inputs that share it, with all attributes that just these inputs share."""
    found = []
    for attribute in query.attributes:
        members = [part for part in parts if set(part.streams) & set(attribute.streams)]
        if len(members) < 2:
            continue
        key = tuple(
            number
            for number, other in enumerate(query.attributes)
            if all(set(part.streams) & set(other.streams) for part in members)
            and not _inside(members, set(other.streams))
        )
        found.append((members, key))
    return found


def _per_key(query: JoinQuery, members: Sequence[Part]) -> bool:
    """Whether an input is a stream whose rows are counted per key."""
    windows = [query.streams[part.stream].window for part in members if isinstance(part, Source)]
    return any(isinstance(window, RowWindow) and window.per_key for window in windows)


def _inside(members: Sequence[Part], streams: set[int]) -> bool:
    """Whether an attribute lies within one input, which has seen to it already."""
    return any(streams <= set(part.streams) for part in members)
