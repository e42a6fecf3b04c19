"""The probe paths of one operator: from what is known about the data, or from the windows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from watersmeet.cost.orders import order_problem
from watersmeet.cost.sizes import Sizes
from watersmeet.cost.visit import COST_MODELS
from watersmeet.optimize.order.optimizers import ORDER_OPTIMIZERS, REASONS
from watersmeet.optimize.order.problem import Sequences
from watersmeet.optimize.order.unknown import shortest_first
from watersmeet.optimize.planning import AUTO, Planning
from watersmeet.optimize.search_steps import NoStepsLeft, SearchSteps
from watersmeet.plan import Operator, ProbePath
from watersmeet.plan.choice import Alternative, Choice


@dataclass(frozen=True, slots=True)
class Paths:
    """Probe paths, and how they came about."""

    paths: tuple[ProbePath, ...]
    choice: Choice


def choose_paths(operator: Operator, sizes: Sizes, planning: Planning) -> Paths:
    """The paths of an operator whose inputs, key and conditions are settled."""
    problem = order_problem(operator, sizes, COST_MODELS[planning.cost_model])
    if problem is None:
        return _unknown(operator, sizes, planning)
    tried: dict[str, Sequences] = {}
    ended = []
    for name, optimizer in ORDER_OPTIMIZERS.items():
        try:
            tried[name] = optimizer(problem, SearchSteps(planning.search_steps))
        except NoStepsLeft:
            ended.append(name)
    skipped = f"{' and '.join(ended)}: more than {planning.search_steps:,} steps" if ended else ""
    costs = {name: problem.total(found) for name, found in tried.items()}
    wanted = planning.optimizer if planning.optimizer in tried else AUTO
    chosen = min(costs, key=lambda name: costs[name]) if wanted == AUTO else wanted
    others = sorted((cost, name) for name, cost in costs.items() if name != chosen)
    choice = Choice(
        about="",
        by=chosen,
        why=REASONS[chosen],
        model=planning.cost_model,
        cost=costs[chosen],
        alternatives=tuple(Alternative(name, cost) for cost, name in others),
        skipped=skipped,
    )
    return Paths(tuple(ProbePath.of(head, tried[chosen][head]) for head in problem.heads), choice)


def _unknown(operator: Operator, sizes: Sizes, planning: Planning) -> Paths:
    """By the rows alive if at least those are known, else by the windows' lengths."""
    scanned = operator.replicated if operator.key else frozenset[int]()
    alive = [sizes.alive_together(part.streams) for part in operator.inputs]
    ranked = operator.replicated

    def shared(bound: Sequence[int], part: int) -> int:
        return len(operator.also_by(sizes.query, bound, part))

    if all(figure.is_known for figure in alive):
        paths = shortest_first([figure.number for figure in alive], ranked, shared)
        choice = Choice("", "by_rows", "fewest rows first, since distinct values are not known")
    else:
        lives = [_reach(sizes, part.streams) for part in operator.inputs]
        paths = shortest_first(lives, ranked, shared)
        choice = Choice("", "by_window", "shortest window first, since too little is known")
    if not scanned:
        paths = tuple(replace(path, before=0) for path in paths)
    if planning.optimizer not in (AUTO, "as_written"):
        choice = replace(choice, skipped=f'optimizer "{planning.optimizer}" needs statistics')
    if planning.optimizer == "as_written":
        paths = shortest_first([0.0] * len(operator.inputs), scanned)
        choice = Choice("", "as_written", REASONS["as_written"])
    return Paths(paths, choice)


def _reach(sizes: Sizes, streams: Sequence[int]) -> float:
    reaches = [sizes.query.reaches[stream] for stream in streams]
    return min((float(reach) for reach in reaches if reach is not None), default=float("inf"))
