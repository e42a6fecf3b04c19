"""From a query to the plan that runs it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from watersmeet.cost.sizes import Sizes
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.check import refuse_what_cannot_run, runs
from watersmeet.optimize.order.choose import choose_paths
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.tree import Group, all_trees, grown, largest_key_first
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.choice import Alternative, Choice
from watersmeet.plan.plan import DEFAULT_BUCKETS, operators
from watersmeet.query import JoinQuery
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
    count = DEFAULT_BUCKETS if buckets is None else buckets
    if type(count) is not int or not 1 <= count <= _MOST_BUCKETS:
        raise InvalidQuery(
            f"the number of buckets is not a whole number from 1 to {_MOST_BUCKETS}",
            f"it is {count!r}.",
            "a few per core of the cluster is a good choice.",
        )
    wishes = planning or Planning()
    refuse_foreign_statistics(query, wishes.statistics)
    sizes = Sizes(query, wishes.statistics)
    tree, of_tree = _choose_tree(sizes, wishes)
    root, of_paths = _with_paths(tree, sizes, wishes)
    numbered = [replace(one, about=f"paths of operator {n}") for n, one in enumerate(of_paths, 1)]
    plan = Plan(
        query,
        root,
        count,
        adaptive=wishes.adaptive,
        choices=(*of_tree, *numbered),
        notes=tuple(_notes(sizes)),
    )
    refuse_what_cannot_run(plan)
    return plan


def _choose_tree(sizes: Sizes, planning: Planning) -> tuple[Operator, list[Choice]]:
    """The cheapest tree if the data is known well enough to tell, else the one with the largest keys."""
    query = sizes.query
    default = largest_key_first(query)
    if len(operators(default)) == 1:
        return default, []
    about = "the tree of operators"
    if any(not sizes.arriving(part.streams).is_known for part in operators(default)):
        return default, [Choice(about, "largest_key", "the key most inputs share first")]
    found = list(islice(all_trees(query), _MOST_TREES + 1))
    skipped = ""
    if len(found) > _MOST_TREES or len(found) * len(query.streams) > planning.budget:
        skipped = f"more than {min(_MOST_TREES, planning.budget // len(query.streams))} trees, not all priced"
        found = [_fewest_results_first(sizes)]
    trees = [tree for tree in dict.fromkeys([default, *found]) if runs(Plan(query, tree))] or [default]
    costs = {tree: _cost(tree, sizes, planning) for tree in trees}
    chosen = min(trees, key=lambda tree: costs[tree])
    others = sorted((costs[tree], _shape(query, tree)) for tree in trees if tree != chosen)
    choice = Choice(
        about,
        "heuristic" if skipped else "exhaustive",
        "the cheaper of largest key and fewest results first" if skipped else "the cheapest of all trees",
        planning.cost_model,
        costs[chosen],
        tuple(Alternative(shape, cost) for cost, shape in others),
        skipped,
    )
    return chosen, [choice]


def _fewest_results_first(sizes: Sizes) -> Operator:
    """Grow the tree by the group whose results are fewest, since they are stored and sent on."""

    def fewest(groups: list[Group]) -> Group:
        def results(group: Group) -> float:
            return sizes.arriving({s for part in group[0] for s in part.streams}).number

        return min(groups, key=results)

    return grown(sizes.query, fewest)


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
        found = choose_paths(replace(part, inputs=inputs), sizes, planning)
        choices.append(found.choice)
        return replace(part, inputs=inputs, paths=found.paths)

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
    guessed = [c.text for c in sizes.query.conditions if c.text not in sizes.statistics.conditions]
    if guessed:
        notes.append(
            f"taken to hold always, so figures are upper bounds: {', '.join(dict.fromkeys(guessed))}"
        )
    return notes
