"""From an operator of a plan to the routes its new rows take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from watersmeet.kernel.conditions import Condition, ExpressionHolds, FunctionsHold, Place, ValuesEqual
from watersmeet.kernel.narrow import Narrowing
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
            steps = _steps_onward(self._plan, self._operator, bound, visited, self._places)
            known = Route(bound[0], bound[0], _stages(steps), self.scanned)
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
    lead, *visited = path.sequence
    # Rows with a key cannot be looked up by a row without one.
    assert lead not in scanned, "a path cannot start from rows without a key"
    numbers = operator.evaluated(plan.query, path)
    return Route(path.head, lead, _stages(_steps(plan, operator, [lead], visited, numbers, places)), scanned)


class _Step(NamedTuple):
    """A window, by what it is looked up beside the key, and what is judged there: the cheapest first."""

    part: int
    narrowing: Narrowing | None
    conditions: list[Condition]


def _stages(steps: Sequence[_Step]) -> tuple[Stage, ...]:
    """Windows that are visited in one go, up to the next condition."""
    stages, waiting = [], []
    for step in steps:
        waiting.append(step.part)
        if step.conditions or step is steps[-1]:
            stages.append(Stage(tuple(waiting), tuple(step.conditions), step.narrowing))
            waiting = []
    return tuple(stages)


def _steps_onward(
    plan: Plan,
    operator: Operator,
    bound: Sequence[int],
    visited: Sequence[int],
    places: dict[tuple[int, str], Place],
) -> list[_Step]:
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
    return _steps(plan, operator, bound, visited, numbers, places)


def _steps(
    plan: Plan,
    operator: Operator,
    bound: Sequence[int],
    visited: Sequence[int],
    judged: Sequence[Sequence[int]],
    places: dict[tuple[int, str], Place],
) -> list[_Step]:
    steps = []
    before = list(bound)
    for part, numbers in zip(visited, judged, strict=True):
        pairs = []
        for attribute in operator.also_by(plan.query, before, part):
            having = dict(checked_refs(plan.query, attribute, operator))
            known = next(having[other] for other in before if other in having)
            pairs.append((attribute, places[known], places[having[part]]))
        conditions: list[Condition] = [ValuesEqual(given, wanted) for _, given, wanted in pairs]
        expressions = [plan.query.conditions[number].expression for number in numbers]
        calls = tuple(one for one in expressions if isinstance(one, FunctionCall))
        conditions += [
            ExpressionHolds(one, places) for one in expressions if not isinstance(one, FunctionCall)
        ]
        conditions += [FunctionsHold(calls, places)] if calls else []
        steps.append(_Step(part, _narrowing(pairs), conditions))
        before.append(part)
    return steps


def _narrowing(pairs: Sequence[tuple[int, Place, Place]]) -> Narrowing | None:
    """By the input with most of the values; what others have is compared afterwards."""
    if not pairs:
        return None
    sources = [given.part for _, given, _ in pairs]
    source = max(sources, key=sources.count)
    attributes, given, wanted = zip(*(pair for pair in pairs if pair[1].part == source), strict=True)
    return Narrowing(attributes, source, tuple(p.position for p in given), tuple(p.position for p in wanted))
