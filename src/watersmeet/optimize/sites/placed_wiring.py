"""From placed joins to the parts that run them.

A join at a site is an operator of the kernel, or several where its inputs do not all share a key; then
those on one key come first, as everywhere (`optimize.tree`). What an operator stores and sends depends on
the operators above it, so every way of a join that is split by value is laid out as part of a whole plan
that goes this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from watersmeet.cost.sizes import Sizes
from watersmeet.optimize.order.choose import choose_paths
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.tree import operator_over, with_conditions
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.layout import value_ref
from watersmeet.plan.plan import operators
from watersmeet.plan.sites.columns import final_columns, named
from watersmeet.plan.sites.placed import At, ByValue, Input, Tree
from watersmeet.plan.sites.sequences import refuse_row_windows
from watersmeet.plan.sites.wiring import RESULTS, MJoinSpec, SplitSpec, TimeOrderSpec, Wiring, WiringBuilder
from watersmeet.query import JoinQuery

# A part, and the way by which rows leave it.
Sender = tuple[str, str]
# Streams, and who sends the rows of their join.
Built = tuple[frozenset[int], list[Sender]]


def placed_wiring(
    query: JoinQuery, tree: Tree, sites: Sequence[str], planning: Planning | None = None
) -> Wiring:
    """The parts of placed joins.

    Args:
        query: What is joined.
        tree: Where.
        sites: Where streams arrive.
        planning: By what probe orders are chosen.
    """
    refuse_row_windows(query, "whole joins cannot be placed")
    building = _Building(query, tree, sites, planning or Planning())
    _, senders = building.build(tree, building.plan(None, 0))
    for sender in senders:
        building.wires.connect(*sender, RESULTS, "")
    return building.wires.finish(final_columns(query))


@dataclass(slots=True)
class _Building:
    query: JoinQuery
    tree: Tree
    sites: Sequence[str]
    planning: Planning
    wires: WiringBuilder = field(default_factory=WiringBuilder)

    def plan(self, split: ByValue | None, way: int) -> Plan:
        """The whole plan that goes some way at one of the joins that are split, the first way elsewhere."""

        def shape(tree: Tree | Input, inputs: Sequence[Tree] = ()) -> Source | Operator:
            if isinstance(tree, Input):
                return shape(inputs[tree.number])
            if isinstance(tree, At):
                return Source(tree.stream)
            if isinstance(tree, ByValue):
                return shape(tree.ways[way if tree is split else 0], tree.inputs)
            return operator_over(self.query, [shape(part, inputs) for part in tree.inputs])

        root = shape(self.tree)
        assert isinstance(root, Operator), "a join has an operator"
        sizes = Sizes(self.query, self.planning.statistics)
        finished = self._with_paths(with_conditions(self.query, root), sizes)
        return Plan(self.query, finished, buckets=1, adaptive=False)

    def _with_paths(self, operator: Operator, sizes: Sizes) -> Operator:
        inputs = tuple(
            part if isinstance(part, Source) else self._with_paths(part, sizes) for part in operator.inputs
        )
        settled = replace(operator, inputs=inputs)
        return replace(settled, paths=choose_paths(settled, sizes, self.planning).paths)

    def build(self, tree: Tree | Input, plan: Plan, inputs: Sequence[Built] = ()) -> Built:
        """Add the parts of a tree; whose rows it joins, and who sends them."""
        if isinstance(tree, Input):
            return inputs[tree.number]
        if isinstance(tree, At):
            source = TimeOrderSpec(
                f"source {self.query.names[tree.stream]}", self.sites[tree.stream], tree.stream, ordered=False
            )
            return tree.streams, [(self.wires.add(source), "out")]
        if isinstance(tree, ByValue):
            return tree.streams, self._split(tree, plan)
        below = [self.build(part, plan, inputs) for part in tree.inputs]
        streams = frozenset[int]().union(*(found for found, _ in below))
        return streams, [(self._join(tree.site, plan, below), "out")]

    def _join(self, site: str, plan: Plan, below: Sequence[Built]) -> str:
        """Add the operators of one join."""
        senders = dict(below)
        everything = frozenset().union(*senders)
        last = ""
        for operator in operators(plan.root):
            streams = frozenset(operator.streams)
            if not streams <= everything or any(streams <= part for part in senders):
                continue
            names = "+".join(plan.query.names[stream] for stream in sorted(streams))
            last = f"join {names} {len(self.wires.parts)}"
            self.wires.add(MJoinSpec(last, site, plan, operator, ends=operator != plan.root))
            for port, part in enumerate(operator.inputs):
                for sender, way in senders[frozenset(part.streams)]:
                    self.wires.connect(sender, way, last, str(port))
            senders[streams] = [(last, "out")]
        return last

    def _split(self, tree: ByValue, plan: Plan) -> list[Sender]:
        splits: list[tuple[frozenset[int], list[str]]] = []
        for part in tree.inputs:
            having = next(
                s for s in sorted(part.streams) if s in self.query.attributes[tree.attribute].streams
            )
            key = named(value_ref(self.query, tree.attribute, Source(having)))
            names = []
            for sender, way in self.build(part, plan)[1]:
                site = next(known.site for known in self.wires.parts if known.name == sender)
                split = SplitSpec(
                    name=f"split of {sender}",
                    site=site,
                    key=(key,),
                    ways=len(tree.ways),
                    values=tree.values,
                    other=tree.other,
                )
                names.append(self.wires.add(split))
                self.wires.connect(sender, way, split.name, "in")
            splits.append((part.streams, names))
        found = []
        for number, way_tree in enumerate(tree.ways):
            inputs = [(streams, [(name, f"way {number}") for name in names]) for streams, names in splits]
            found += self.build(way_tree, self.plan(tree, number), inputs)[1]
        return found
