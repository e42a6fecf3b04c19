r"""Which operators of a plan could be split by value (Zhou et al. 2006, Sect. 3.3, Algorithm 2).

A join on several attributes is planned as a whole first. An operator all of whose predicates are equalities
on one attribute can become a PMJoin, and swallows operators on the same attribute below it:

          x                       x (PMJoin)
        /   \                   /   |   \
       x     d     becomes     y    c    d
     /   \                    / \
    y     c                  a   b
   / \
  a   b

The result of a PMJoin comes about at many nodes, so it cannot be the right-most input of another join, to
whose place the other inputs are sent. An operator that was the right-most input before its parent was
swallowed can therefore not become one: should the PMJoin above be given up, it is the right-most input again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watersmeet.optimize.sites.placement import Leaf, MJoin, Tree

# The attribute each predicate is an equality on, by its streams; None for any other predicate.
Attributes = Mapping[frozenset[int], str | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Operators that could be one PMJoin.

    Attributes:
        attribute: What its values are split by.
        merged: Its operators, the topmost first.
        inputs: What it joins.
    """

    attribute: str
    merged: tuple[MJoin, ...]
    inputs: tuple[Tree, ...]

    @property
    def streams(self) -> frozenset[int]:
        """The streams below, which no other operator of a plan has."""
        return self.merged[0].streams


def find_partition(tree: Tree, attributes: Attributes) -> tuple[Candidate, ...]:
    """Every operator that could be a PMJoin on its own, with all it can swallow; those above first.

    >>> a, b, c = (Leaf(stream, node=stream) for stream in range(3))
    >>> plan = MJoin((MJoin((a, b)), c))
    >>> on_x = {frozenset({0, 1}): "x", frozenset({1, 2}): "x"}
    >>> [(found.attribute, len(found.merged)) for found in find_partition(plan, on_x)]
    [('x', 2)]
    """
    found = []
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        part, rightmost = waiting.pop(0)
        if isinstance(part, Leaf):
            continue
        attribute = None if rightmost else partitionable(part, attributes)
        children = _children(part)
        if attribute is not None:
            merged, children = _swallow(part, attribute, attributes)
            found.append(Candidate(attribute, merged, tuple(child for child, _ in children)))
        waiting = children + waiting
    return tuple(found)


def partitionable(operator: MJoin, attributes: Attributes) -> str | None:
    """The attribute that all predicates of an operator are equalities on, if there is one."""
    names = {name for edge, name in attributes.items() if operator.crosses(edge)}
    return names.pop() if len(names) == 1 else None


def _children(operator: MJoin) -> list[tuple[Tree, bool]]:
    """The inputs, and whether each is the right-most."""
    return [(part, part is operator.inputs[-1]) for part in operator.inputs]


def _swallow(
    top: MJoin, attribute: str, attributes: Attributes
) -> tuple[tuple[MJoin, ...], list[tuple[Tree, bool]]]:
    """An operator with those on the same attribute below it, and the inputs that are left."""
    merged = [top]
    inputs = []
    waiting = _children(top)
    while waiting:
        part, rightmost = waiting.pop(0)
        if isinstance(part, MJoin) and partitionable(part, attributes) == attribute:
            merged.append(part)
            waiting = _children(part) + waiting
        else:
            inputs.append((part, rightmost))
    return tuple(merged), inputs
