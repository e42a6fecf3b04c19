"""Trees of joins in which rows come out without partners.

Whether a row has a partner has to be decided in one place. Required streams meet first, as in any join; then
every optional stream is added, to the same operator where it has the same key, and otherwise in one of its
own:

    orders, customers -- customer --+
                                    +-- order (outer) --+
    payments, parcels (optional) ---+                   +-- invoice (outer)
    refunds (optional) ---------------------------------+

Without a key one input is spread over the buckets and the others go everywhere; nothing is sliced.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from watersmeet.optimize.keyless import REPLICATED, Part, connected_pairs
from watersmeet.optimize.tree import Routing, largest_key_first, with_conditions
from watersmeet.plan import Operator, Source
from watersmeet.query import JoinQuery
from watersmeet.query.kind import FULL, OUTER

_COPIES = Routing(REPLICATED)


def tree_of_kind(query: JoinQuery) -> Operator:
    """The tree of a join that is not an inner one."""
    if query.kind == OUTER:
        return with_conditions(query, _with_optional(query))
    return with_conditions(query, replace(_first_against_others(query), kind=query.kind))


def _with_optional(query: JoinQuery) -> Operator:
    required = [stream for stream in query.binding_order if stream not in query.optional]
    part: Part = Source(required[0])
    if len(required) > 1:
        part = largest_key_first(query, _COPIES, streams=required)
    for stream in query.optional:
        part = _added(query, part, stream)
    assert isinstance(part, Operator)
    return part


def _added(query: JoinQuery, part: Part, stream: int) -> Operator:
    """One optional stream more: in the same operator if that has its key, else in one above it."""
    shared = _shared(query, [stream], part.streams)
    if isinstance(part, Operator) and part.key and set(part.key) <= set(shared) and not part.replicated:
        inputs = (*part.inputs, Source(stream))
        return replace(part, inputs=inputs, optional=(*part.optional, len(inputs) - 1), kind=OUTER)
    copies = frozenset[int]() if shared else frozenset({1})
    return Operator((part, Source(stream)), shared, copies, (), optional=(1,), kind=OUTER)


def _first_against_others(query: JoinQuery) -> Operator:
    """All in one operator where they share a key; else the others meet first, if anything connects them."""
    streams = range(len(query.streams))
    others = streams[1:]
    everywhere = any(attribute.streams == tuple(streams) for attribute in query.attributes)
    if everywhere or len(others) == 1 or not _connected(query, [Source(stream) for stream in others]):
        return _around_first(query)
    below = largest_key_first(query, _COPIES, streams=others)
    shared = _shared(query, [0], others)
    return Operator((Source(0), below), shared, frozenset() if shared else frozenset({1}), ())


def _around_first(query: JoinQuery) -> Operator:
    """One operator by the key that the first stream shares with most others; the rest goes everywhere."""
    having = [a.streams for a in query.attributes if a.among([0])]
    most = max(having, key=len, default=(0,))
    key = tuple(n for n, a in enumerate(query.attributes) if set(most) <= set(a.streams))
    rest = [stream for stream in range(len(query.streams)) if stream not in most]
    inputs = tuple(Source(stream) for stream in (*most, *rest))
    # A full join decides about both sides, so neither can be in several buckets.
    copies = frozenset() if query.kind == FULL else frozenset(range(len(most), len(inputs)))
    return Operator(inputs, key if len(most) > 1 else (), copies, ())


def _shared(query: JoinQuery, some: Collection[int], others: Collection[int]) -> tuple[int, ...]:
    """The attributes that both have."""
    found = enumerate(query.attributes)
    return tuple(number for number, one in found if one.among(some) and one.among(others))


def _connected(query: JoinQuery, parts: list[Part]) -> bool:
    """Whether something connects all of some streams with each other."""
    groups = [{stream} for part in parts for stream in part.streams]
    pairs = [{*one.streams, *other.streams} for one, other in connected_pairs(query, parts)]
    pairs += [set(attribute.streams) - {0} for attribute in query.attributes]
    for pair in pairs:
        touched = [group for group in groups if group & pair]
        if touched:
            groups = [group for group in groups if not group & pair] + [set().union(*touched)]
    return len(groups) == 1
