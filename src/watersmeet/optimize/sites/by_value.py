"""Different placements for different values of a join attribute (Zhou et al. 2006, Sect. 3.3, "PMJoin").

A join is planned as a whole first. Operators of the plan all of whose equalities are on one attribute can be
split by its values, as far as it is known how often these occur (`find_partition`); of operators that feed
each other only one is (`select`). Values are put into groups, every group is placed on its own, and groups
with the same plan become one way.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from watersmeet.cost.site_bytes import Sent
from watersmeet.optimize.sites.key_groups import Floats, Streams, frequencies_of, value_shares
from watersmeet.optimize.sites.partition.by_hash import by_hash
from watersmeet.optimize.sites.partition.by_range import by_range
from watersmeet.optimize.sites.partition.by_rate import by_rate, rank_vectors
from watersmeet.optimize.sites.partition.find_partition import Candidate, find_partition
from watersmeet.optimize.sites.partition.groups import Groups
from watersmeet.optimize.sites.partition.select import select
from watersmeet.optimize.sites.placement import Leaf
from watersmeet.optimize.sites.placement import Tree as Placed
from watersmeet.optimize.sites.placing import Inputs, is_connected, place, streams_as_inputs
from watersmeet.optimize.sites.planning import DEFAULT_GROUPS, SitePlanning
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.optimize.sites.stream_join_opt import stream_join_opt
from watersmeet.plan.sites.placed import At, ByValue, Input, JoinAt, Tree
from watersmeet.query.expression import INTEGERS

_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(INTEGERS, int),
    "string": str,
    "double": (int, float),
    "date": dt.date,
    "timestamp": dt.datetime,
}


@dataclass(frozen=True, slots=True, eq=False)
class ValueTable:
    """How often values of an attribute occur.

    Attributes:
        attribute: Its number.
        values: The values that are listed.
        keys: How many values each entry stands for: those listed, then groups of others.
        shares: Per stream the share of its rows that have one of them.
    """

    attribute: int
    values: tuple[Any, ...]
    keys: Floats
    shares: dict[int, Floats]
    _known: dict[tuple[Streams, bytes], float] = field(default_factory=dict)

    def share(self, streams: Streams, chosen: Floats) -> float:
        """Which share of the results of some streams has one of the chosen entries (one and zero)."""
        asked = streams & set(self.shares), chosen.tobytes()
        if asked not in self._known:
            together = self.together(streams)
            total = float(together.sum())
            self._known[asked] = float((together * chosen).sum()) / total if total else 0.0
        return self._known[asked]

    def together(self, streams: Streams) -> Floats:
        """The share of each entry in the results of some streams, up to a factor."""
        rows = [self.shares[stream] for stream in sorted(streams & set(self.shares))]
        return np.asarray(self.keys * np.prod(rows, axis=0))

    def entries(self, tree: ByValue, way: int) -> Floats:
        """One for the entries that go some way."""
        listed = dict(zip(*tree.values, strict=True))
        ways = [listed.get(value, tree.other) for value in self.values]
        ways += [tree.other] * (len(self.keys) - len(self.values))
        return np.array([float(taken == way) for taken in ways])


def value_table(problem: SiteProblem, attribute: int, streams: Streams) -> ValueTable | None:
    """The values of an attribute in some streams; None unless all are known and rows can be told by them."""
    query, statistics = problem.query, problem.meetings.sizes.statistics
    found = value_shares(query, statistics, [attribute], streams)
    valid = _TYPES.get(query.attributes[attribute].type)
    having = sorted(streams & set(query.attributes[attribute].streams))
    if found is None or valid is None:
        return None
    spreads = [s for stream in having if (s := frequencies_of(query, statistics, (attribute,), stream))]
    # Wide groups list names instead of values.
    if any(spread.width != 1 for spread in spreads):
        return None
    entries = list(dict.fromkeys(entry for spread in spreads for entry in spread.shares))
    # Measured frequencies list hashes; behind those of frequent values is the value. A rare value that was
    # seen once or twice in a sample says nothing about its rate, so it goes the way of all others.
    behind = [next((v for s in spreads if (v := s.value(entry)) is not None), None) for entry in entries]
    listed = [number for number, value in enumerate(behind) if value is not None]
    values = tuple(behind[number] for number in listed)
    if not values or not all(isinstance(value, valid) and not isinstance(value, bool) for value in values):
        return None
    keys, shares = found
    others = sorted(set(range(len(keys))) - set(listed))
    order = [*listed, *others]
    return ValueTable(attribute, values, keys[order], {s: row[order] for s, row in shares.items()})


def placed_by_value(
    problem: SiteProblem, given: SitePlanning, *, exact: bool
) -> Iterator[tuple[Tree, dict[Streams, ValueTable], str]]:
    """Plans that are split by value, with the tables they were made by and how.

    The paper splits the operators with the fastest inputs (`select`). Others may gain more, so that each of
    them alone is looked at as well.
    """
    inputs = streams_as_inputs(problem)
    if not is_connected(inputs):
        return
    whole = stream_join_opt(inputs).tree
    names: dict[frozenset[int], str | None] = {}
    for number, attribute in enumerate(problem.query.attributes):
        streams = frozenset(attribute.streams)
        # A key of several columns has no single value to go by.
        names[streams] = None if streams in names else str(number)
    tables: dict[Streams, ValueTable] = {}
    usable = []
    for candidate in find_partition(whole, names):
        table = value_table(problem, int(candidate.attribute), candidate.streams)
        # An input that only a condition links to the others has no value to go by.
        if table is not None and all(part.streams & set(table.shares) for part in candidate.inputs):
            tables[candidate.streams] = table
            usable.append(candidate)
    selections = [select(usable, inputs), *((candidate,) for candidate in usable)]
    for chosen in dict.fromkeys(selection for selection in selections if selection):
        splits = {c.streams: _split(problem, c, tables[c.streams], given, exact=exact) for c in chosen}
        ways = {streams: split for streams, split in splits.items() if split is not None}
        if len(ways) == len(splits):
            words = [f"by {problem.query.attributes[w.attribute].label}, {how}" for w, how in ways.values()]
            tree = _with_splits(problem, whole, {c.streams: c for c in chosen}, ways)
            yield tree, tables, " and ".join(words)


def _with_splits(
    problem: SiteProblem,
    part: Placed,
    chosen: Mapping[Streams, Candidate],
    ways: Mapping[Streams, tuple[ByValue, str]],
) -> Tree:
    """A plan of the paper's with some of its operators split."""
    if isinstance(part, Leaf):
        return At(part.stream)
    candidate = chosen.get(part.streams)
    children = part.inputs if candidate is None else candidate.inputs
    below = tuple(_with_splits(problem, child, chosen, ways) for child in children)
    if candidate is None:
        return JoinAt(below, problem.places[part.node])
    return replace(ways[part.streams][0], inputs=below)


def _split(
    problem: SiteProblem,
    candidate: Candidate,
    table: ValueTable,
    given: SitePlanning,
    *,
    exact: bool,
) -> tuple[ByValue, str] | None:
    """Every group of values placed on its own, groups with the same plan together; without its inputs."""
    streams = tuple(part.streams for part in candidate.inputs)
    sites = tuple(problem.places[part.node] for part in candidate.inputs)
    groups, words = _groups(problem, table, streams, given)
    entries = [np.zeros(len(table.keys)) for _ in groups]
    for chosen, group in zip(entries, groups, strict=True):
        chosen[list(group)] = 1.0
    unlisted = np.zeros(len(table.keys))
    unlisted[len(table.values) :] = 1.0
    if unlisted.any():
        entries.append(unlisted)
    ways: dict[JoinAt, list[int]] = defaultdict(list)
    other = None
    for chosen in entries:
        # Results of the groups are added up in rows; each has frames of its own, which few rows make dear.
        placed = place(_group_inputs(problem, streams, sites, table, chosen), exact=exact)
        if placed is None:
            return None
        ways[placed[0]] += np.flatnonzero(chosen[: len(table.values)]).tolist()
        other = placed[0] if chosen is unlisted else other
    trees = list(ways)
    fallback = max(trees, key=lambda tree: len(ways[tree])) if other is None else other
    listed = sorted((value, n) for n, tree in enumerate(trees) if tree != fallback for value in ways[tree])
    values = tuple(table.values[value] for value, _ in listed), tuple(way for _, way in listed)
    split = ByValue(table.attribute, (), tuple(trees), values, trees.index(fallback))
    return split, f"{words} made {len(trees)} ways" if len(trees) > 1 else f"{words} all go one way"


def _group_inputs(
    problem: SiteProblem,
    streams: tuple[Streams, ...],
    sites: tuple[str, ...],
    table: ValueTable,
    chosen: Floats,
) -> Inputs:
    known: dict[frozenset[int], Sent] = {}

    def load(numbers: frozenset[int]) -> Sent:
        if numbers not in known:
            below = frozenset[int]().union(*(streams[number] for number in numbers))
            known[numbers] = problem.shipped(below, share=table.share(below, chosen))
        return known[numbers]

    return Inputs(problem, streams, sites, tuple(Input(n) for n in range(len(streams))), load)


def _groups(
    problem: SiteProblem, table: ValueTable, streams: tuple[Streams, ...], given: SitePlanning
) -> tuple[Groups, str]:
    """Values in groups, by their numbers, and in words."""
    count = len(table.values)
    kind = "rate" if given.partition == "auto" else given.partition
    if kind == "none":
        return (tuple(range(count)),), "all values"
    if kind == "rate":
        rates = np.array([_value_rates(problem, table, part) for part in streams])[:, :count]
        orders = len(np.unique(rank_vectors(rates), axis=0))
        found = by_rate(rates, min(given.groups or DEFAULT_GROUPS, orders))
        return found, f"{_counted(found)} of {count} values with the same order of rates"
    limit = min(given.groups or DEFAULT_GROUPS, count)
    if kind == "hash":
        found = by_hash(count, limit)
        return found, f"{_counted(found)} of {count} values by hash"
    order = sorted(range(count), key=lambda number: table.values[number])
    found = tuple(tuple(order[place] for place in group) for group in by_range(count, limit))
    return found, f"{_counted(found)} of {count} values by range"


def _value_rates(problem: SiteProblem, table: ValueTable, streams: Streams) -> Floats:
    together = table.together(streams)
    total = float(together.sum())
    rate = problem.meetings.rate(streams) or 0.0
    return rate * together / total if total else together


def _counted(groups: Groups) -> str:
    return f"{len(groups)} group{'s' if len(groups) != 1 else ''}"
