"""What plans send from site to site, join by join: for the choice between them, and for people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from watersmeet.cost.site_bytes import Sent
from watersmeet.optimize.sites.by_bytes import OneWay, Reached
from watersmeet.optimize.sites.by_value import ValueTable
from watersmeet.optimize.sites.key_groups import Floats, Streams
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.plan.plan import BETWEEN
from watersmeet.plan.sites.placed import At, ByValue, Input, JoinAt, Tree
from watersmeet.plan.sites.plan import LinkLoad, SiteStep
from watersmeet.stats import ABSENT, Figure

# Values of a way that are spelled out.
_SPELLED_OUT = 5


@dataclass(slots=True)
class Loads:
    """What is sent, as it adds up."""

    problem: SiteProblem
    links: dict[tuple[str, str], Sent] = field(default_factory=lambda: defaultdict(Sent))
    steps: list[SiteStep] = field(default_factory=list)

    def add(self, sent: Sent, one: str, other: str) -> float:
        """Something is sent from a site to another; its bytes, if these are two."""
        if one == other:
            return 0.0
        self.links[one, other] += sent
        return sent.bytes

    @property
    def possible(self) -> bool:
        """Whether all links that are needed are there."""
        return all(self.problem.weight(*link) < math.inf for link in self.links)

    @property
    def cost(self) -> float:
        """All bytes of a second, or where links have a price that of a day."""
        return sum(self.problem.price(*link) * sent.bytes for link, sent in self.links.items())

    @property
    def preference(self) -> tuple[float, float]:
        """The smaller the better: of plans that cost the same that with fewer bytes."""
        return self.cost, sum(sent.bytes for sent in self.links.values())

    def figure(self, value: float | None) -> Figure:
        """A prediction; absent where too little is known for any."""
        return Figure.estimated(value) if value is not None and self.problem.known else ABSENT

    def link_loads(self, between: Sequence[tuple[str, str]]) -> tuple[LinkLoad, ...]:
        """What is sent on links, in order."""
        return tuple(
            LinkLoad(one, other, self.figure(sent.rows), self.figure(sent.bytes))
            for one, other in between
            for sent in (self.links.get((one, other), Sent()),)
        )

    def name(self, streams: Streams) -> str:
        """Streams that have met."""
        return BETWEEN.join(self.problem.query.names[stream] for stream in sorted(streams))

    def results(self, streams: Streams, heads: Streams | None = None) -> Figure:
        """Results of some streams per second."""
        return self.figure(self.problem.meetings.rate(streams, heads))


def one_way_loads(problem: SiteProblem, sequences: Sequence[Reached]) -> Loads:
    """What sequences send, head by head."""
    loads = Loads(problem)
    for head, reached in enumerate(sequences):
        for step in reached.steps:
            sent = _one_way(loads, step)
            loads.steps.append(
                SiteStep(
                    group=problem.query.names[head],
                    joins=(loads.name(step.joined),),
                    how=_how(step),
                    site=step.site,
                    results=loads.results(step.done | step.joined, step.heads),
                    bytes=loads.figure(sent),
                )
            )
    return loads


def tree_loads(problem: SiteProblem, reached: Reached) -> Loads:
    """What a tree of two-way joins sends."""
    loads = Loads(problem)
    pairs = list(zip(reached.steps[::2], reached.steps[1::2], strict=True))
    for number, (over, back) in enumerate(pairs, 1):
        sent = _one_way(loads, over) + _one_way(loads, back)
        places = [over.home or over.site, back.home or back.site]
        loads.steps.append(
            SiteStep(
                group=f"join {number}",
                joins=(loads.name(over.done), loads.name(over.joined)),
                how=f"{_how(over)} and back {_how(back)}",
                site=" and ".join(dict.fromkeys(places)),
                results=loads.results(over.done | over.joined),
                bytes=loads.figure(sent),
            )
        )
    return loads


def _one_way(loads: Loads, step: OneWay) -> float:
    sent = loads.add(step.exchange.there, step.heads_at, step.window_at)
    sent += loads.add(step.exchange.back, step.window_at, step.heads_at)
    return sent + (0.0 if step.home is None else loads.add(step.gathered, step.site, step.home))


def _how(step: OneWay) -> str:
    return "there" if step.heads_at == step.window_at else step.algorithm.value


# Where a part of a plan has its rows, which share of them is there, and the streams below.
_Given = list[tuple[str, Sent]]


def placed_loads(problem: SiteProblem, tree: Tree, tables: Mapping[Streams, ValueTable]) -> Loads:
    """What placed joins send, those below before those above."""
    loads = Loads(problem)

    def given(part: Tree) -> tuple[Streams, _Given]:
        if isinstance(part, At):
            return part.streams, [(problem.sites[part.stream], problem.shipped(part.streams))]
        if isinstance(part, JoinAt):
            below = [given(_tree(child)) for child in part.inputs]
            return _join(loads, part, below, "", None)
        inputs = [given(child) for child in part.inputs]
        table = tables[part.streams]
        results: _Given = []
        for way, plan in enumerate(part.ways):
            chosen = table.entries(part, way)
            words = _values(problem, part, way) if len(part.ways) > 1 else ""
            results += _way(loads, plan, inputs, (table, chosen), words)[1]
        return part.streams, results

    given(tree)
    return loads


def _way(
    loads: Loads,
    plan: JoinAt,
    inputs: Sequence[tuple[Streams, _Given]],
    group: tuple[ValueTable, Floats],
    words: str,
) -> tuple[Streams, _Given]:
    """The join of one group of values."""
    table, chosen = group
    below = []
    for child in plan.inputs:
        if isinstance(child, Input):
            streams, whole = inputs[child.number]
            share = table.share(streams, chosen)
            parts = [(site, loads.problem.shipped(streams, share=share)) for site, _ in whole]
            below.append((streams, parts))
        else:
            assert isinstance(child, JoinAt), "a way joins the inputs"
            below.append(_way(loads, child, inputs, group, words))
    return _join(loads, plan, below, words, group)


def _join(
    loads: Loads,
    plan: JoinAt,
    below: Sequence[tuple[Streams, _Given]],
    words: str,
    group: tuple[ValueTable, Floats] | None,
) -> tuple[Streams, _Given]:
    streams = frozenset[int]().union(*(found for found, _ in below))
    share = 1.0 if group is None else group[0].share(streams, group[1])
    sent = sum(loads.add(rows, site, plan.site) for _, given in below for site, rows in given)
    rate = loads.problem.meetings.rate(streams)
    loads.steps.append(
        SiteStep(
            group=words,
            joins=tuple(loads.name(found) for found, _ in below),
            how="join",
            site=plan.site,
            results=loads.figure(None if rate is None else rate * share),
            bytes=loads.figure(sent),
        )
    )
    return streams, [(plan.site, loads.problem.shipped(streams, share=share))]


def _tree(part: Tree | Input) -> Tree:
    assert not isinstance(part, Input), "inputs are below joins that are split"
    return part


def _values(problem: SiteProblem, split: ByValue, way: int) -> str:
    """The values that go some way, in words."""
    label = problem.query.attributes[split.attribute].label
    listed = [value for value, taken in zip(*split.values, strict=True) if taken == way]
    if way == split.other:
        return f"other {label}"
    shown = ", ".join(map(str, listed[:_SPELLED_OUT]))
    more = f" and {len(listed) - _SPELLED_OUT} more" if len(listed) > _SPELLED_OUT else ""
    return f"{label} {shown}{more}"
