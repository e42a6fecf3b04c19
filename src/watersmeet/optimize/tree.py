"""The tree of operators for a join graph.

Streams that share a key meet in one operator, however many they are (Zhou et al. 2006, Sect. 4.2: operators
on the same attribute are merged): nothing between them is stored. Where the key changes, the results of one
operator are an input of the next.

    a.x = b.x, b.x = c.x, c.y = d.y            d ----+
                                                     +-- y
                                a, b, c -- x --------+

Inputs without an equality between them meet as `keyless` says. This file knows which trees there are; which
of them is taken is decided in `choose`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from watersmeet.optimize.keyless import (
    ALIGNED,
    SLICED,
    Pair,
    Part,
    aligned,
    connected_pairs,
    may_be_sliced,
    replicated,
    sliced,
)
from watersmeet.plan import Operator, Source
from watersmeet.query import JoinQuery
from watersmeet.query.number_band import number_band

Group = tuple[list[Part], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Routing:
    """How rows of inputs meet that no equality links.

    Attributes:
        name: ``"sliced"``, ``"replicated"`` or ``"aligned"``.
        segment: The length of a segment for aligned rows, microseconds; None chooses one.
    """

    name: str = SLICED
    segment: int | None = None


SLICES = Routing()


def largest_key_first(
    query: JoinQuery, routing: Routing = SLICES, *, streams: Sequence[int] | None = None
) -> Operator:
    """Operators on the attribute most inputs share, until one is left; ties as the user wrote them."""
    return grown(
        query,
        # Rows counted per key are best joined last: only there is it known when a result comes about.
        lambda groups: max(groups, key=lambda g: (not _per_key(query, g[0]), len(g[0]), len(g[1]))),
        routing=routing,
        streams=streams,
    )


def operator_over(query: JoinQuery, inputs: Sequence[Part]) -> Operator:
    """Operators over inputs that stay as they are, those with the largest key first; without conditions."""
    parts = list(inputs)
    while groups := _groups(query, parts):
        parts = merged(parts, max(groups, key=lambda group: (len(group[0]), len(group[1]))))
    if len(parts) == 1 and isinstance(parts[0], Operator):
        return parts[0]
    return Operator(tuple(parts), (), frozenset(range(1, len(parts))), ())


def grown(
    query: JoinQuery,
    choose: Callable[[list[Group]], Group],
    choose_pair: Callable[[list[Pair]], Pair] = lambda pairs: pairs[0],
    routing: Routing = SLICES,
    *,
    streams: Sequence[int] | None = None,
) -> Operator:
    """A tree that grows from the leaves, by the group chosen at every step.

    Args:
        query: What is joined.
        choose: Chooses among inputs that share attributes.
        choose_pair: Chooses among pairs that share none, but a condition.
        routing: How rows meet without a shared attribute.
        streams: The streams of the tree; None for all of them.
    """
    leaves = range(len(query.streams)) if streams is None else streams
    parts: list[Part] = [Source(stream) for stream in leaves]
    while groups := _groups(query, parts):
        parts = merged(parts, choose(groups))
    while pairs := _pairs(query, parts, routing):
        parts = sliced(parts, choose_pair(pairs))
    return with_conditions(query, _under_one(query, parts, routing))


def all_trees(query: JoinQuery, routing: Routing = SLICES) -> Iterator[Operator]:
    """Every tree that merges inputs attribute by attribute, and what is left pair by pair; each once."""
    seen: set[frozenset[Part]] = set()

    def grow(parts: list[Part]) -> Iterator[Operator]:
        state = frozenset(parts)
        if state in seen:
            return
        seen.add(state)
        groups = _groups(query, parts)
        for group in groups:
            yield from grow(merged(parts, group))
        pairs = [] if groups else _pairs(query, parts, routing)
        for pair in pairs:
            yield from grow(sliced(parts, pair))
        if not groups and not pairs:
            yield with_conditions(query, _under_one(query, parts, routing))

    yield from grow([Source(stream) for stream in range(len(query.streams))])


def merged(parts: Sequence[Part], group: Group) -> list[Part]:
    """The parts with a group of them under one operator."""
    members, key = group
    return [part for part in parts if part not in members] + [Operator(tuple(members), key, frozenset(), ())]


def with_conditions(query: JoinQuery, root: Operator) -> Operator:
    """The same tree with conditions as far down as they can be evaluated."""
    return _finished(query, [set(attribute.streams) for attribute in query.attributes], root, set())


def _pairs(query: JoinQuery, parts: Sequence[Part], routing: Routing) -> list[Pair]:
    """The pairs that can meet in slices."""
    return connected_pairs(query, parts) if routing.name == SLICED and may_be_sliced(query) else []


def _under_one(query: JoinQuery, parts: Sequence[Part], routing: Routing) -> Operator:
    """One operator over what is left."""
    if len(parts) == 1 and isinstance(parts[0], Operator):
        return parts[0]
    return aligned(query, parts, routing.segment) if routing.name == ALIGNED else replicated(parts)


def _finished(query: JoinQuery, attributes: list[set[int]], shape: Operator, evaluated: set[int]) -> Operator:
    inputs = tuple(
        part if isinstance(part, Source) else _finished(query, attributes, part, evaluated)
        for part in shape.inputs
    )
    below = [part.streams for part in inputs]
    streams = set(shape.streams)
    ready = tuple(
        number
        for number, condition in enumerate(query.conditions)
        if number not in evaluated
        and condition.streams <= streams
        and (condition.owner is None or condition.owner in streams)
    )
    evaluated.update(ready)
    checks = tuple(
        number
        for number, attribute in enumerate(attributes)
        if number not in shape.key and sum(not attribute.isdisjoint(some) for some in below) > 1
    )
    band = None
    if shape.sliced:
        judged = [query.conditions[number].expression for number in ready]
        band = number_band(judged, *(part.streams for part in inputs))
    return replace(shape, inputs=inputs, conditions=ready, checks=checks, band=band)


def _groups(query: JoinQuery, parts: Sequence[Part]) -> list[Group]:
    """Per attribute the inputs that share it, with all attributes that just these inputs share."""
    streams = [set(part.streams) for part in parts]
    attributes = [set(attribute.streams) for attribute in query.attributes]
    having = [{i for i, inside in enumerate(streams) if inside & attribute} for attribute in attributes]
    found = []
    for members in having:
        if len(members) < 2:
            continue
        key = tuple(
            number
            for number, others in enumerate(having)
            # An attribute that lies within one input has been seen to already.
            if members <= others and not any(attributes[number] <= streams[i] for i in members)
        )
        found.append(([parts[i] for i in sorted(members)], key))
    return found


def _per_key(query: JoinQuery, members: Sequence[Part]) -> bool:
    """Whether an input is a stream whose rows are counted per key."""
    streams = [query.streams[part.stream] for part in members if isinstance(part, Source)]
    return any(stream.window.counts_per_key for stream in streams)
