"""The last look at a plan before it runs: what cannot run is refused, and the option named that can."""

from __future__ import annotations

from watersmeet.errors import InvalidPlanning, InvalidQuery
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.plan import operators


def refuse_what_cannot_run(plan: Plan) -> None:
    """Raise if a plan could not run."""
    for stream in _counted_per_key(plan):
        if not _countable(plan, stream):
            raise _uncountable(plan, stream)
    judged = [number for operator in operators(plan.root) for number in operator.conditions]
    if sorted(judged) != list(range(len(plan.query.conditions))):
        raise InvalidPlanning(
            "a condition would not be judged exactly once", f"judged are {judged}.", "report this plan."
        )
    for operator in operators(plan.root):
        _refuse_keyless_lead(plan, operator)


def runs(plan: Plan) -> bool:
    """Whether a tree can run, whatever its paths."""
    return all(_countable(plan, stream) for stream in _counted_per_key(plan))


def _refuse_keyless_lead(plan: Plan, operator: Operator) -> None:
    scanned = operator.replicated if operator.key else frozenset[int]()
    for path in operator.paths:
        if path.sequence[0] in scanned:
            names = [plan.input_name(operator.inputs[part]) for part in path.sequence]
            raise InvalidPlanning(
                "a probe path would start from rows without a key",
                f"{' -> '.join(names)}: the others are found by their key only.",
                'let the planner choose: optimizer="auto".',
            )


def _counted_per_key(plan: Plan) -> list[int]:
    return [i for i, stream in enumerate(plan.query.streams) if stream.window.counts_per_key]


def _countable(plan: Plan, stream: int) -> bool:
    """Rows of a key can be counted where they meet by just that key, and nothing is joined to it later."""
    used = _keys_of(plan, stream)
    return bool(used) and Source(stream) in plan.root.inputs and used <= set(plan.root.key)


def _keys_of(plan: Plan, stream: int) -> set[int]:
    return {n for n, attribute in enumerate(plan.query.attributes) if stream in attribute.streams}


def _uncountable(plan: Plan, stream: int) -> InvalidQuery:
    equalities = [plan.query.attributes[number].label for number in sorted(_keys_of(plan, stream))]
    window = f'its window is "{plan.query.streams[stream].window}"'
    return InvalidQuery(
        f'rows of stream "{plan.query.names[stream]}" cannot be counted per key',
        f"{window}, and it is joined on {' and on '.join(equalities)}, which is not one key."
        if equalities
        else f"{window}, and no equality gives it a key.",
        "count the rows of the whole stream, wm.rows(n), or join it on one key only.",
    )
