"""Predicted and measured side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watersmeet.plan.explain.facts import Explanation, OperatorFacts
from watersmeet.plan.explain.numbers import number, off_by
from watersmeet.plan.measured import MeasuredDeployment, MeasuredFunction
from watersmeet.stats import Figure

# Paths of as many inputs are not reported.
_MANY = 16

_Row = tuple[str, Figure | None, float | None]


def measured_lines(facts: Explanation) -> Iterator[str]:
    """A table of what was expected and what was seen, and how the paths have changed."""
    assert facts.measured is not None
    yield from _table(facts.measured.batches, list(_rows(facts)))
    for operator in facts.operators:
        yield from _paths(facts, operator)
    seen = [operator.measured for operator in facts.operators if operator.measured]
    yield from _functions([one for operator in seen for one in operator.functions])
    if facts.measured.hot_keys or facts.measured.spread_keys:
        yield "hot keys"
        yield from (f"  {text}" for text in facts.measured.hot_keys)
    if facts.measured.spread_keys:
        yield f"  spread over all buckets: {facts.measured.spread_keys}"


def deployed_lines(
    seen: MeasuredDeployment, expected: Mapping[tuple[str, str], Figure], results: Figure | None = None
) -> Iterator[str]:
    """The same of a join between sites or over slices.

    Args:
        seen: What was measured.
        expected: What was to be sent on every link, bytes per second.
        results: How many results were expected per second.
    """
    rows: list[_Row] = []
    for stream in seen.streams:
        rows += [
            (f"{stream.name} rows", None, stream.rate),
            (f"{stream.name} stored rows", None, stream.state_rows),
        ]
    rows.append(("results", results, seen.output))
    for link in seen.links:
        name = f"{link.sender} -> {link.receiver} bytes"
        rows.append((name, expected.get((link.sender, link.receiver)), link.bytes))
    rows.append(("all bytes sent", sum(expected.values(), Figure.exact(0)) if expected else None, seen.bytes))
    yield from _table(seen.batches, rows)
    if seen.waiting:
        yield f"  {seen.waiting:,} rows wait for others, or for an answer"
    yield from _functions(seen.functions)


def _table(batches: int, rows: Sequence[_Row]) -> Iterator[str]:
    yield f"measured over {batches} batches, per second of event time"
    width = max((len(name) for name, _, _ in rows), default=0)
    yield f"  {'':<{width}}  {'predicted':>12}  {'measured':>12}"
    for name, predicted, seen in rows:
        before = number(predicted.number) if predicted is not None and predicted.is_known else "?"
        after = "?" if seen is None else number(seen)
        off = "" if before == "?" or seen is None or predicted is None else off_by(predicted.number, seen)
        yield f"  {name:<{width}}  {before:>12}  {after:>12}  {off}".rstrip()


def _functions(found: Sequence[MeasuredFunction]) -> Iterator[str]:
    """What functions were seen to cost."""
    if found:
        yield "functions"
    for one in found:
        cost, share = (one.seconds * 1e6 / one.pairs, one.accepted / one.pairs) if one.pairs else (0.0, 0.0)
        inconsistent = f", {one.inconsistent} pairs NOT the same when asked again" if one.inconsistent else ""
        yield f"  {one.text}  {one.pairs:,} pairs, {cost:.3g} us each, accepted {share:.3g}{inconsistent}"


def _rows(facts: Explanation) -> Iterator[_Row]:
    for operator in facts.operators:
        for part in operator.inputs:
            expected, seen = part.expected, part.measured
            if seen is None:
                continue
            yield f"{part.name} rows", expected.rate if expected else None, seen.rate
            yield f"{part.name} stored rows", expected.state_rows if expected else None, seen.state_rows
            yield f"{part.name} stored bytes", expected.state_bytes if expected else None, seen.state_bytes
        if operator.measured is None:
            continue
        last = operator.number == len(facts.operators)
        name = "results" if last else f"results of operator {operator.number}"
        output = facts.expected.operators[operator.number - 1].output if facts.expected else None
        yield name, output, operator.measured.output
        yield (
            "visits" if len(facts.operators) == 1 else f"visits of operator {operator.number}",
            _visits(operator),
            _together(operator.measured.examined, operator.measured.lookups),
        )


def _visits(operator: OperatorFacts) -> Figure | None:
    choice = operator.choice
    if choice is None or choice.cost is None or choice.model != "probes":
        return None
    return Figure.estimated(choice.cost)


def _together(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _paths(facts: Explanation, operator: OperatorFacts) -> Iterator[str]:
    """The ways the buckets go now, where they chose for themselves."""
    # A join without windows has one way to go.
    progressive = facts.memory is not None and facts.memory.progressive is not None
    if operator.measured is None or not facts.adaptive or progressive:
        return
    names = [part.name for part in operator.inputs]
    several = f" of operator {operator.number}" if len(facts.operators) > 1 else ""
    yield f"paths{several} now, changed {operator.measured.changes:,} times"
    if not any(part.measured and part.measured.paths for part in operator.inputs):
        yield "  not reported" if len(names) < _MANY else "  too many inputs to list"
    for part in operator.inputs:
        if part.measured is None:
            continue
        for order, buckets in sorted(part.measured.paths, key=lambda use: (-use[1], use[0])):
            way = " -> ".join(names[visited] for visited in order)
            yield f"  {part.name}: {way} in {buckets} of {facts.buckets} buckets"
