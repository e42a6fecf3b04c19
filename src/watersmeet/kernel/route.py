"""From an operator of a plan to the routes its new rows take."""

from __future__ import annotations

from watersmeet.kernel.conditions import Condition, ExpressionHolds, Place, ValuesEqual
from watersmeet.kernel.search import Route, Stage
from watersmeet.plan import Operator, Plan, ProbePath
from watersmeet.plan.layout import OperatorLayout, checked_refs


def routes(plan: Plan, operator: Operator, layout: OperatorLayout) -> tuple[Route, ...]:
    """One route per input."""
    places = {
        (ref.stream, ref.column): Place(part, position)
        for part, spec in enumerate(layout.inputs)
        for position, ref in enumerate(spec.stored)
    }
    # Without any key, all rows of an operator share an empty one, and nothing has to be scanned.
    scanned = operator.replicated if operator.key else frozenset[int]()
    return tuple(_route(plan, operator, path, places, scanned) for path in operator.paths)


def _route(
    plan: Plan,
    operator: Operator,
    path: ProbePath,
    places: dict[tuple[int, str], Place],
    scanned: frozenset[int],
) -> Route:
    conditions = _conditions(plan, operator, path, places)
    visited = list(path.order)
    lead = path.head
    if path.head in scanned:
        # Rows with a key cannot be looked up without one: go through them, and look for the new rows.
        lead, visited[0] = visited[0], path.head
    stages, waiting = [], []
    for part, judged in zip(visited, conditions, strict=True):
        waiting.append(part)
        if judged or part == visited[-1]:
            stages.append(Stage(tuple(waiting), tuple(judged)))
            waiting = []
    return Route(path.head, lead, tuple(stages), scanned)


def _conditions(
    plan: Plan, operator: Operator, path: ProbePath, places: dict[tuple[int, str], Place]
) -> list[list[Condition]]:
    """Per step of a path, what can be judged after it; comparing values first, since that is cheapest."""
    found: list[list[Condition]] = [[] for _ in path.order]
    for attribute in operator.checks:
        having = dict(checked_refs(plan.query, attribute, operator))
        known = having.get(path.head)
        for step, part in enumerate(path.order):
            ref = having.get(part)
            if ref is not None and known is not None:
                found[step].append(ValuesEqual(places[known], places[ref]))
            known = known or ref
    for step, numbers in enumerate(operator.evaluated(plan.query, path)):
        expressions = [plan.query.conditions[number].expression for number in numbers]
        found[step] += [ExpressionHolds(expression, places) for expression in expressions]
    return found
