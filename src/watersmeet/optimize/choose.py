"""From a query to the plan that runs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from watersmeet.cost.sizes import Sizes
from watersmeet.errors import InvalidPlanning, InvalidQuery
from watersmeet.optimize.check import refuse_what_cannot_run, runs
from watersmeet.optimize.keyless import Part, may_be_sliced
from watersmeet.optimize.kinds import tree_of_kind
from watersmeet.optimize.late import late_functions
from watersmeet.optimize.order.choose import choose_paths
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.slice_count import slice_count
from watersmeet.optimize.slice_orders import slice_orders
from watersmeet.optimize.tree import Routing, all_trees, grown, largest_key_first
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.choice import Alternative, Choice
from watersmeet.plan.hot_rule import HotRule
from watersmeet.plan.plan import DEFAULT_BUCKETS, operators
from watersmeet.plan.progressive import Bounded
from watersmeet.plan.sites.sliced import Sliced
from watersmeet.query import JoinQuery
from watersmeet.query.duration import to_us
from watersmeet.query.kind import FULL, INNER
from watersmeet.stats.check import refuse_foreign_statistics

_MOST_BUCKETS = 4096
# Trees that are priced before a heuristic takes over.
_MOST_TREES = 40


def choose_plan(query: JoinQuery, *, buckets: int | None = None, planning: Planning | None = None) -> Plan:
    """The plan for a query.

    Args:
        query: What to compute.
        buckets: How many parts the key domain is split into; None takes the default. It bounds the
            parallelism and cannot change once a checkpoint exists.
        planning: What is known about the data, and how to choose; None takes the defaults.
    """
    if buckets is not None and (type(buckets) is not int or not 1 <= buckets <= _MOST_BUCKETS):
        raise InvalidQuery(
            f"the number of buckets is not a whole number from 1 to {_MOST_BUCKETS}",
            f"it is {buckets!r}.",
            "a few per core of the cluster is a good choice.",
        )
    given = planning or Planning()
    refuse_foreign_statistics(query, given.statistics)
    sizes = Sizes(query, given.statistics)
    tree, of_tree = _choose_tree(sizes, given)
    root, of_paths = _with_paths(tree, sizes, given)
    numbered = [replace(one, about=f"paths of operator {n}") for n, one in enumerate(of_paths, 1)]
    count = _bucket_count(root, sizes) if buckets is None else buckets
    if root.kind == FULL and not root.key and count > 1:
        raise InvalidQuery(
            "a full join without a key has one bucket",
            f"both sides have to see all of the other, and there would be {count} buckets.",
            "leave buckets= out, or join on a key.",
        )
    if given.spread is not None and (type(given.spread) is not int or not 1 <= given.spread <= count):
        raise InvalidPlanning(
            "windows cannot be spread over so many buckets",
            f"it is {given.spread!r}, and there are {count} buckets.",
            "give a whole number from 1 to the number of buckets.",
        )
    plan = Plan(
        query,
        root,
        count,
        adaptive=given.adaptive,
        active=given.spread,
        hot_keys=HotRule() if given.spread_hot_keys and query.memory is None else None,
        deployed=_deployed(root, query, given, given.spread or count),
        bounded=None
        if query.memory is None
        else Bounded(query.memory, given.memory.algorithm, tick_s=given.memory.tick_s),
        choices=(*of_tree, *numbered),
        notes=tuple(_notes(sizes)),
    )
    refuse_what_cannot_run(plan)
    return plan


def _deployed(root: Operator, query: JoinQuery, planning: Planning, slices: int) -> Sliced | None:
    """All windows in slices, and no operator above another."""
    if query.kind != INNER or all(operator.key for operator in operators(root)) or not may_be_sliced(query):
        return None
    return Sliced(slice_orders(query, planning), (slices,) * len(query.streams))


def _bucket_count(root: Operator, sizes: Sizes) -> int:
    """Fewer than usual where windows are sliced and sending a row to all slices would cost too much.

    A full join without a key has one bucket, because both sides have to see all of the other.
    """
    tree = operators(root)
    if root.kind == FULL and not root.key:
        return 1
    if not all(operator.sliced for operator in tree):
        return DEFAULT_BUCKETS
    return max(slice_count(operator, sizes, DEFAULT_BUCKETS) for operator in tree)


def _choose_tree(sizes: Sizes, planning: Planning) -> tuple[Operator, list[Choice]]:
    """The cheapest tree if the data is known well enough to tell, else the one with the largest keys."""
    query = sizes.query
    if query.kind != INNER:
        return tree_of_kind(query), []
    routing = Routing(planning.routing, None if planning.segment is None else to_us(planning.segment))
    default = largest_key_first(query, routing)
    if len(operators(default)) == 1:
        return default, []
    about = "the tree of operators"
    if any(not sizes.arriving(part.streams).is_known for part in operators(default)):
        return default, [Choice(about, "largest_key", "the key most inputs share first")]
    found = list(islice(all_trees(query, routing), _MOST_TREES + 1))
    skipped = ""
    if len(found) > _MOST_TREES or len(found) * len(query.streams) > planning.search_steps:
        most = min(_MOST_TREES, planning.search_steps // len(query.streams))
        skipped = f"more than {most} trees, not all priced"
        found = [_fewest_results_first(sizes, routing)]
    trees = [tree for tree in dict.fromkeys([default, *found]) if runs(Plan(query, tree))] or [default]
    costs = {tree: _cost(tree, sizes, planning) for tree in trees}
    chosen = min(trees, key=lambda tree: costs[tree])
    others = sorted((costs[tree], _shape(query, tree)) for tree in trees if tree != chosen)
    choice = Choice(
        about=about,
        by="heuristic" if skipped else "exhaustive",
        why="the cheaper of largest key and fewest results first" if skipped else "the cheapest of all trees",
        model=planning.cost_model,
        cost=costs[chosen],
        alternatives=tuple(Alternative(shape, cost) for cost, shape in others),
        skipped=skipped,
    )
    return chosen, [choice]


def _fewest_results_first(sizes: Sizes, routing: Routing) -> Operator:
    """Grow the tree by the group whose results are fewest, since they are stored and sent on."""

    def results(parts: Iterable[Part]) -> float:
        return sizes.arriving({s for part in parts for s in part.streams}).number

    return grown(
        sizes.query,
        lambda groups: min(groups, key=lambda group: results(group[0])),
        lambda pairs: min(pairs, key=results),
        routing,
    )


def _cost(tree: Operator, sizes: Sizes, planning: Planning) -> float:
    """Visits of all its operators, and one more unit for every result that is stored again."""
    _, chosen = _with_paths(tree, sizes, planning)
    visits = sum(choice.cost for choice in chosen if choice.cost is not None)
    between = sum(sizes.arriving(part.streams).number for part in operators(tree)[:-1])
    return visits + between


def _with_paths(tree: Operator, sizes: Sizes, planning: Planning) -> tuple[Operator, list[Choice]]:
    """The tree with probe paths, and how they came about, operator by operator."""
    choices: list[Choice] = []

    def finished(part: Source | Operator) -> Source | Operator:
        if isinstance(part, Source):
            return part
        inputs = tuple(finished(child) for child in part.inputs)
        settled = replace(part, inputs=inputs)
        settled = replace(settled, late=late_functions(settled, sizes))
        found = choose_paths(settled, sizes, planning)
        choices.append(found.choice)
        return replace(settled, paths=found.paths)

    root = finished(tree)
    assert isinstance(root, Operator)
    return root, choices


def _shape(query: JoinQuery, part: Source | Operator) -> str:
    if isinstance(part, Source):
        return query.names[part.stream]
    return "(" + " ".join(_shape(query, child) for child in part.inputs) + ")"


def _notes(sizes: Sizes) -> list[str]:
    """What was not known."""
    if sizes.statistics.is_empty:
        return []
    notes = []
    if missing := sizes.missing():
        notes.append(f"not known: {', '.join(missing)}")
    guessed = [c.text for c in sizes.query.conditions if not sizes.holds(c).is_known]
    if guessed:
        notes.append(
            f"taken to hold always, so figures are upper bounds: {', '.join(dict.fromkeys(guessed))}"
        )
    return notes
