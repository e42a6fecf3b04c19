"""From an operator of a plan to the routes its new rows take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from watersmeet.kernel.conditions import Condition, ExpressionHolds, FunctionsHold, Place, ValuesEqual
from watersmeet.kernel.search import Route, Stage
from watersmeet.plan import Operator, Plan, ProbePath
from watersmeet.plan.layout import OperatorLayout, checked_refs
from watersmeet.query.expression import FunctionCall


class Routes:
    """The routes of an operator, one for every path that was ever taken."""

    def __init__(self, plan: Plan, operator: Operator, layout: OperatorLayout) -> None:
        """Prepare what all paths share."""
        self._plan = plan
        self._operator = operator
        self._places = {
            (ref.stream, ref.column): Place(part, position)
            for part, spec in enumerate(layout.inputs)
            for position, ref in enumerate(spec.stored)
        }
        # Without any key, all rows of an operator share an empty one, and nothing has to be scanned.
        self.scanned = operator.replicated if operator.key else frozenset[int]()
        # What can be judged only when a combination is complete, by the input it is about.
        self.at_the_end: dict[int, list[Condition]] = {}
        self._known: dict[ProbePath, Route] = {}
        self._onward: dict[tuple[tuple[int, ...], tuple[int, ...]], Route] = {}

    def along(self, path: ProbePath, *, also: tuple[Condition, ...] = ()) -> Route:
        """The route of a path; `also` has to hold of complete combinations in this search."""
        found = self._known.get(path)
        if found is None:
            found = _route(self._plan, self._operator, path, self._places, self.scanned)
            found = self._known[path] = _with_last(found, self._last(path.sequence))
        return _with_last(found, also) if also else found

    def onward(self, bound: Sequence[int], visited: Sequence[int]) -> Route:
        """The route from inputs that are bound already, by the key of the first, to some more."""
        known = self._onward.get((tuple(bound), tuple(visited)))
        if known is None:
            steps = _judged_onward(self._plan, self._operator, bound, visited, self._places)
            known = Route(bound[0], bound[0], _stages(visited, steps), self.scanned)
            known = _with_last(known, self._last((*bound, *visited)))
            self._onward[tuple(bound), tuple(visited)] = known
        return known

    def _last(self, inputs: Sequence[int]) -> tuple[Condition, ...]:
        return tuple(one for part in inputs for one in self.at_the_end.get(part, ()))


def _with_last(route: Route, more: tuple[Condition, ...]) -> Route:
    """A route with more conditions after its last stage."""
    *first, last = route.stages
    return replace(route, stages=(*first, replace(last, conditions=(*last.conditions, *more))))


def _route(
    plan: Plan,
    operator: Operator,
    path: ProbePath,
    places: dict[tuple[int, str], Place],
    scanned: frozenset[int],
) -> Route:
    conditions = _conditions(plan, operator, path, places)
    lead, *visited = path.sequence
    # Rows with a key cannot be looked up by a row without one.
    assert lead not in scanned, "a path cannot start from rows without a key"
    return Route(path.head, lead, _stages(visited, conditions), scanned)


def _stages(visited: Sequence[int], conditions: Sequence[Sequence[Condition]]) -> tuple[Stage, ...]:
    """Windows that are visited in one go, up to the next condition."""
    stages, waiting = [], []
    for part, judged in zip(visited, conditions, strict=True):
        waiting.append(part)
        if judged or part == visited[-1]:
            stages.append(Stage(tuple(waiting), tuple(judged)))
            waiting = []
    return tuple(stages)


def _conditions(
    plan: Plan, operator: Operator, path: ProbePath, places: dict[tuple[int, str], Place]
) -> list[list[Condition]]:
    """Per step of a path, what can be judged after it: the cheapest first, functions last."""
    first, *others = path.sequence
    numbers = operator.evaluated(plan.query, path)
    return _per_step(plan, operator, [first], others, numbers, places)


def _judged_onward(
    plan: Plan,
    operator: Operator,
    bound: Sequence[int],
    visited: Sequence[int],
    places: dict[tuple[int, str], Place],
) -> list[list[Condition]]:
    """Per step what decides about the partners there.

    Conditions of an optional stream are its own, whatever they name; others are judged when all are bound.
    """
    streams = {stream for part in bound for stream in operator.inputs[part].streams}
    optional = {operator.inputs[part].streams[0] for part in operator.optional}
    judged = set[int]()
    numbers = []
    for part in visited:
        added = operator.inputs[part].streams
        streams.update(added)
        owner = added[0] if added[0] in optional else None
        ready = tuple(
            number
            for number in operator.conditions
            if number not in judged
            and plan.query.conditions[number].owner == owner
            and plan.query.conditions[number].streams <= streams
        )
        judged.update(ready)
        numbers.append(ready)
    return _per_step(plan, operator, bound, visited, numbers, places)


def _per_step(
    plan: Plan,
    operator: Operator,
    bound: Sequence[int],
    visited: Sequence[int],
    judged: Sequence[Sequence[int]],
    places: dict[tuple[int, str], Place],
) -> list[list[Condition]]:
    found: list[list[Condition]] = [[] for _ in visited]
    for attribute in operator.checks:
        having = dict(checked_refs(plan.query, attribute, operator))
        known = next((having[part] for part in bound if part in having), None)
        for step, part in enumerate(visited):
            ref = having.get(part)
            if ref is not None and known is not None:
                found[step].append(ValuesEqual(places[known], places[ref]))
            known = known or ref
    for step, numbers in enumerate(judged):
        expressions = [plan.query.conditions[number].expression for number in numbers]
        calls = tuple(one for one in expressions if isinstance(one, FunctionCall))
        found[step] += [
            ExpressionHolds(one, places) for one in expressions if not isinstance(one, FunctionCall)
        ]
        found[step] += [FunctionsHold(calls, places)] if calls else []
    return found
