"""A plan as text, one line per thing a reader asks about."""

from __future__ import annotations

from collections.abc import Iterator

from watersmeet.plan.choice import Choice
from watersmeet.plan.explain.facts import (
    Explanation,
    FunctionFacts,
    InputFacts,
    OperatorFacts,
    PathFacts,
    ProgressiveFacts,
)
from watersmeet.plan.explain.measured import deployed_lines, measured_lines
from watersmeet.plan.explain.numbers import bytes_of, figure, number, seconds, size
from watersmeet.plan.forecast import Forecast
from watersmeet.query.kind import ANTI, FULL, INNER, OUTER, SEMI

# From here on a reader should know that few rows make many.
_MANY_RESULTS = 10

# What a progressive join does with rows that do not fit, and with time that is left.
_POLICIES = {
    "rpj": "rows least likely to find partners go to disk; the task with most new results per second is done",
    "rpj-md": "rows least likely to find partners go to disk; rows in memory are looked for there",
    "rpj-dd": "rows least likely to find partners go to disk; what is there is merged",
    "xjoin": "the largest partition goes to disk; the largest in memory is looked for there",
    "hmj": "large partitions with sides of like size go to disk; one after the other is merged there",
}


def as_text(facts: Explanation) -> str:
    """What is joined; per operator what arriving rows visit and what is stored; what to expect."""
    return "\n".join(_lines(facts))


def _lines(facts: Explanation) -> Iterator[str]:
    yield _title(facts)
    yield from _streams(facts)
    if facts.by_windows:
        yield "conditions that the windows already ensure"
        yield from (f"  {text}" for text in facts.by_windows)
    if any(stream.only for stream in facts.streams):
        yield "before the join"
        yield from (f"  {s.name}  only rows with {text}" for s in facts.streams for text in s.only)
    for operator in facts.operators:
        yield from _operator(facts, operator)
    yield from _storage(facts)
    if facts.deployed:
        rounds = len(facts.streams) - 1
        yield f"with deploy(): every row stored once, nothing between operators, {rounds} rounds of messages"
        width = max(len(path.head) for path in facts.deployed)
        yield from (f"  {path.head:<{width}}  {_path(path)}" for path in facts.deployed)
    if facts.functions:
        yield "Python functions, called for each pair"
        yield from (f"  {_function(one)}" for one in facts.functions)
    if facts.afterwards:
        yield "after the join, in Spark"
        for text, reason in facts.afterwards:
            yield f"  {text}" + (f"  (the kernel has no {reason})" if reason else "")
    if facts.expected is not None and facts.expected.output.is_known:
        yield from _expected(facts.expected)
    if facts.notes:
        yield "planned without"
        yield from (f"  {note}" for note in facts.notes)
    if facts.verbose:
        yield from _considered(facts)
    if facts.measured is not None:
        yield from measured_lines(facts)
    if facts.measured_deployment is not None:
        yield from deployed_lines(
            facts.measured_deployment, {}, None if facts.expected is None else facts.expected.output
        )


def _title(facts: Explanation) -> str:
    what = f"{'' if facts.kind == INNER else facts.kind + ' '}join of {len(facts.streams)} streams"
    if len(facts.operators) > 1:
        return f"{what} in {len(facts.operators)} operators"
    key = facts.operators[0].key
    return f"{what} on {key}" if key else f"{what} without a key"


def _streams(facts: Explanation) -> Iterator[str]:
    width = max(len(stream.name) for stream in facts.streams)
    for stream in facts.streams:
        late = "" if stream.lateness is None else f", up to {stream.lateness} late"
        part = f", {stream.part}" if stream.part else ""
        yield f"  {stream.name:<{width}}  {stream.alive}{late}{part}"


def _operator(facts: Explanation, operator: OperatorFacts) -> Iterator[str]:
    width = max(len(part.name) for part in operator.inputs)
    several = len(facts.operators) > 1
    by = f"on {operator.key}" if operator.key else "without a key"
    yield (f"operator {operator.number} {by}: " if several else "") + "arriving rows visit"
    for path, part in zip(operator.paths, operator.inputs, strict=True):
        yield f"  {path.head:<{width}}  {_path(path)}{_path_cost(path, part)}"
    if operator.choice is not None and operator.choice.cost is not None:
        cost = f"{number(operator.choice.cost)} {operator.choice.model} per s"
        yield f"  order {operator.choice.by}: {operator.choice.why}, {cost}"
    if operator.choice is not None and operator.choice.skipped:
        yield f"  not searched: {operator.choice.skipped}"
    yield from _closing(facts, operator)
    yield f"state of operator {operator.number}" if several else "state"
    for part in operator.inputs:
        stores = ", ".join(part.stores) or "nothing but key and time"
        spread = f", {part.spread}" if part.spread else ""
        yield f"  {part.name:<{width}}  stores {stores}{spread}{_state(part)}"


def _closing(facts: Explanation, operator: OperatorFacts) -> Iterator[str]:
    """What is done for rows without partners."""
    if facts.kind == OUTER and operator.adds:
        yield "when the watermark passes the end of required rows"
        yield f"  they look once more for {', then '.join(operator.adds)}; what lacks one leaves with nulls"
    last = operator is facts.operators[-1]
    if facts.kind == FULL and last:
        yield "when the watermark passes the end of a row"
        yield "  it looks once more for partners, and leaves with nulls if it has none"
    if facts.kind == ANTI and last:
        yield "when the watermark passes the end of a row"
        yield f"  rows of {facts.streams[0].name} look for partners, and leave if they have none"
    if facts.kind == SEMI and last:
        yield "when the watermark has passed rows"
        yield f"  rows of {facts.streams[0].name} leave at the first moment at which they have partners"


def _path(path: PathFacts) -> str:
    steps = []
    matches = path.expected.matches if path.expected else ()
    for place, step in enumerate(path.steps):
        count = f" x {number(matches[place].number)}" if matches and matches[place].is_known else ""
        tests = f" if {' and '.join(step.tests)}" if step.tests else ""
        steps.append(f"-> {step.visits}[{step.by}]{tests}{count}")
    lead = "" if path.lead == path.head or _keyless(path) else f"from all of {path.lead} "
    return lead + " ".join(steps) if path.lead == path.head or lead else _keyless_path(path)


def _keyless(path: PathFacts) -> bool:
    """A head without a key is looked for from another input, which to a reader is no different."""
    return bool(path.steps) and path.steps[0].visits == path.head and path.steps[0].by == "all in reach"


def _keyless_path(path: PathFacts) -> str:
    """As the head sees it: first the input that leads, then the others."""
    tests = f" if {' and '.join(path.steps[0].tests)}" if path.steps[0].tests else ""
    rest = [
        f"-> {step.visits}[{step.by}]" + (f" if {' and '.join(step.tests)}" if step.tests else "")
        for step in path.steps[1:]
    ]
    return " ".join([f"-> {path.lead}[all in reach]{tests}", *rest])


def _path_cost(path: PathFacts, part: InputFacts) -> str:
    if path.expected is None or part.expected is None or not path.expected.cost.is_known:
        return ""
    if not part.expected.rate.value:
        return ""
    per_row = path.expected.cost / part.expected.rate
    return f"   {figure(per_row)} a row, {figure(path.expected.cost)} per s"


def _state(part: InputFacts) -> str:
    if part.expected is None or not part.expected.state_rows.is_known:
        return ""
    weight = bytes_of(part.expected.state_bytes)
    return f": {figure(part.expected.state_rows, 'rows')}" + (f", {weight}" if weight != "?" else "")


def _storage(facts: Explanation) -> Iterator[str]:
    """How rows are spread, and what is kept between operators."""
    spread = "by hash of the key" if facts.operators[-1].key else "without a key"
    between = "no intermediate result stored"
    if len(facts.operators) > 1:
        between = "results of one operator stored in the next"
    progressive = None if facts.memory is None else facts.memory.progressive
    if progressive is None:
        cut = f"windows cut into {facts.time_slices} time slices"
        yield f"  {facts.buckets} buckets {spread}, {cut}, {between}"
    else:
        yield f"  {facts.buckets} buckets {spread}, {progressive.partitions} partitions in all"
    if facts.operators[-1].key:
        yield f"  hot keys: {_hot_keys(facts)}"
    if facts.waits:
        yield f"  rows wait for the watermark, since {facts.waits_for} are known only then"
    if facts.memory is not None:
        rows = f"{size(facts.memory.bytes)}, of which {size(facts.memory.rows)} for stored rows"
        yield f"memory of an executor: {rows}"
        yield from _in_windows() if progressive is None else _progressive(progressive)


def _hot_keys(facts: Explanation) -> str:
    *some, last = facts.hot_keys.dealt or ("",)
    if not last:
        return f"not spread ({facts.hot_keys.not_spread})"
    of = f"{', '.join(some)} or {last}" if some else last
    if len(some) + 1 == len(facts.streams):
        of = "one stream"
    return f"on one machine rows of {of} are dealt out over all buckets, the others copied"


def _in_windows() -> Iterator[str]:
    yield "  where windows are larger, rows that found most partners for their size stay in memory"
    yield "  the others lie on disk, and are looked into piece by piece"


def _progressive(facts: ProgressiveFacts) -> Iterator[str]:
    yield f"  {facts.algorithm}: {_POLICIES[facts.algorithm]}"
    yield f"  when nothing arrives for {number(facts.silence)} s, what is on disk is joined"
    first = "not known without rates and keys" if facts.first is None else f"after {number(facts.first)} s"
    yield f"  first result {first}; all results after the streams have ended"


def _function(function: FunctionFacts) -> str:
    known = [
        "cost not known" if function.cost is None else f"{number(function.cost * 1e6)} us",
        "share not known" if function.share is None else f"holds for {function.share:.3g} of all",
    ]
    when = ["once all rows are found"] if function.late else []
    return f"{function.text}  {', '.join([*known, *when])}"


def _expected(expected: Forecast) -> Iterator[str]:
    yield "expected, per second of event time"
    yield f"  {figure(expected.output, 'results')}, {figure(expected.amplification)} for an input row"
    if expected.amplification.is_known and expected.amplification.number >= _MANY_RESULTS:
        yield "  ! every input row makes many results: a shorter window or one more condition would help"
    leave = "wait for the watermark" if expected.waits else "leave with their last row"
    late = f"{expected.held_by} may be {seconds(expected.lateness)} late"
    if expected.batch.is_known:
        batch = seconds(expected.batch.number)
        final = seconds(expected.final_after.number)
        yield f"  results {leave}; none is missing after {final} ({late}, a batch spans {batch})"
    else:
        yield f"  results {leave}; none is missing one batch later ({late})"
        yield "  state without what comes in one batch, whose span is not known"
    if expected.shipped.is_known:
        yield f"  {bytes_of(expected.shipped)} to the buckets"


def _considered(facts: Explanation) -> Iterator[str]:
    yield "considered"
    listed = [facts.tree, *(operator.choice for operator in facts.operators)]
    for choice in (choice for choice in listed if choice is not None):
        yield from _choice(choice)


def _choice(choice: Choice) -> Iterator[str]:
    cost = "" if choice.cost is None else f", {number(choice.cost)} {choice.model} per s"
    yield f"  {choice.about}: {choice.by}, {choice.why}{cost}"
    alike: dict[str, list[str]] = {}
    for other in choice.alternatives:
        alike.setdefault(number(other.cost), []).append(other.what)
    for cost, names in alike.items():
        yield f"    {', '.join(names)}: {cost}"
    if choice.skipped:
        yield f"    not searched: {choice.skipped}"
