"""What there is to say about a plan, before it is put into words: the same facts for every form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from watersmeet.plan.choice import Choice
from watersmeet.plan.dealing import may_deal, why_not_spread
from watersmeet.plan.forecast import Forecast, InputForecast, PathForecast
from watersmeet.plan.layout import OperatorLayout, Ref, layouts
from watersmeet.plan.measured import Measured, MeasuredDeployment, MeasuredInput, MeasuredOperator
from watersmeet.plan.plan import Operator, Plan, ProbePath, Source, operators
from watersmeet.plan.sites.columns import ready_conditions
from watersmeet.query import JoinQuery
from watersmeet.query.condition import Condition
from watersmeet.query.duration import describe_duration
from watersmeet.query.kind import ANTI, FULL, INNER, OUTER, SEMI
from watersmeet.query.number_band import number_band


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream of the query; `part` is what becomes of it without partners, if anything does."""

    name: str
    alive: str
    lateness: str | None
    only: tuple[str, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A window on the way of an arriving row: how it is looked into, and what is judged there."""

    visits: str
    by: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathFacts:
    """The way of one input's new rows; `lead` is the input whose rows are gone through, mostly its own."""

    head: str
    lead: str
    steps: tuple[StepFacts, ...]
    expected: PathForecast | None


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What is stored of an input, and in which buckets if not by the key."""

    name: str
    stores: tuple[str, ...]
    spread: str
    expected: InputForecast | None
    measured: MeasuredInput | None


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """One operator; `adds` are the optional inputs that results go on without."""

    number: int
    key: str
    inputs: tuple[InputFacts, ...]
    paths: tuple[PathFacts, ...]
    choice: Choice | None
    measured: MeasuredOperator | None
    adds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A Python function that is asked: seconds for a pair and the part of pairs it holds for, if known."""

    text: str
    cost: float | None
    share: float | None
    late: bool


@dataclass(frozen=True, slots=True)
class ProgressiveFacts:
    """How a join without windows goes about it; `first` is when a first result is expected, seconds."""

    algorithm: str
    partitions: int
    silence: float
    first: float | None


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """How a join keeps to its memory: of an executor, and of these for stored rows."""

    bytes: int
    rows: int
    progressive: ProgressiveFacts | None


@dataclass(frozen=True, slots=True)
class HotKeyFacts:
    """What is done with rows of hot keys: the inputs that may be dealt out, or why all stay in a bucket."""

    dealt: tuple[str, ...]
    not_spread: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A whole plan."""

    kind: str
    streams: tuple[StreamFacts, ...]
    by_windows: tuple[str, ...]
    afterwards: tuple[tuple[str, str], ...]
    operators: tuple[OperatorFacts, ...]
    functions: tuple[FunctionFacts, ...]
    deployed: tuple[PathFacts, ...]
    buckets: int
    time_slices: int
    memory: MemoryFacts | None
    hot_keys: HotKeyFacts
    waits: bool
    waits_for: str
    adaptive: bool
    tree: Choice | None
    notes: tuple[str, ...]
    expected: Forecast | None
    measured: Measured | None
    measured_deployment: MeasuredDeployment | None
    verbose: bool


def explanation(
    plan: Plan, forecast: Forecast | None, seen: Measured | MeasuredDeployment | None, *, verbose: bool
) -> Explanation:
    """Gather the facts."""
    measured = seen if isinstance(seen, Measured) else None
    query, tree, laid_out = plan.query, operators(plan.root), layouts(plan)
    chosen = {choice.about: choice for choice in plan.choices}
    return Explanation(
        kind=query.kind,
        streams=stream_facts(query),
        by_windows=query.by_windows,
        afterwards=tuple((rest.text, rest.reason) for rest in query.afterwards),
        operators=tuple(
            OperatorFacts(
                number=number + 1,
                key=_key(query, operator),
                inputs=_inputs(query, tree, operator, laid_out[operator], forecast, measured),
                paths=_paths(query, tree, operator, forecast),
                choice=chosen.get(f"paths of operator {number + 1}"),
                measured=measured.operators[number] if measured else None,
                adds=tuple(_name(query, tree, operator.inputs[part]) for part in operator.optional),
            )
            for number, operator in enumerate(tree)
        ),
        functions=_functions(query, tree, forecast),
        deployed=_deployed(plan) if len(tree) > 1 else (),
        buckets=plan.buckets,
        time_slices=plan.time_slices,
        memory=_memory(plan, forecast),
        hot_keys=_hot_keys(plan),
        waits=plan.waits(plan.root),
        waits_for=_waits_for(plan),
        adaptive=plan.adaptive,
        tree=chosen.get("the tree of operators"),
        notes=plan.notes,
        expected=forecast,
        measured=measured,
        measured_deployment=seen if isinstance(seen, MeasuredDeployment) else None,
        verbose=verbose,
    )


def _waits_for(plan: Plan) -> str:
    """What is known only when the watermark has passed; empty where rows join as they come."""
    if not plan.waits(plan.root):
        return ""
    return "windows of rows" if plan.counted(plan.root) else "the ends of sessions"


def _hot_keys(plan: Plan) -> HotKeyFacts:
    reason = why_not_spread(plan)
    if not reason and plan.hot_keys is None:
        reason = "turned off" if plan.bounded is None else "memory is limited"
    dealt = () if reason else may_deal(plan)
    return HotKeyFacts(tuple(plan.input_name(plan.root.inputs[part]) for part in dealt), reason)


def _memory(plan: Plan, forecast: Forecast | None) -> MemoryFacts | None:
    bounded = plan.bounded
    if bounded is None:
        return None
    progressive = ProgressiveFacts(
        bounded.algorithm,
        plan.buckets << bounded.bits,
        bounded.tick_s,
        None if forecast is None else forecast.first_result_s,
    )
    return MemoryFacts(bounded.memory, bounded.memory // 2, progressive if plan.endless else None)


def stream_facts(query: JoinQuery) -> tuple[StreamFacts, ...]:
    """The streams of a query."""
    return tuple(
        StreamFacts(
            stream.name,
            stream.window.explained(stream.time, reach),
            # Where nothing expires, nothing is late.
            None if stream.window.endless else describe_duration(stream.lateness),
            tuple(f.text for f in query.filters if f.stream == number),
            _part(query, number),
        )
        for number, (stream, reach) in enumerate(zip(query.streams, query.reaches, strict=True))
    )


def _part(query: JoinQuery, number: int) -> str:
    """What becomes of rows of a stream without partners, in words."""
    if query.kind == INNER:
        return ""
    lone = {OUTER: "comes out with nulls", FULL: "comes out with nulls", ANTI: "comes out"}
    if query.kind == SEMI and number == 0:
        return "comes out once, with its first partners"
    if number in query.preserved:
        several = query.kind == OUTER and len(query.preserved) > 1
        return "required" if several else f"{lone[query.kind]} if there are no partners"
    lives = [query.reaches[s] for s in query.preserved or (0,)]
    known = [life for life in lives if life is not None]
    longer = f"kept {describe_duration(timedelta(microseconds=min(known)))} longer" if any(known) else ""
    if query.kind != OUTER:
        return longer
    return f"optional, {longer} for results that close later" if longer else "optional"


def _inputs(
    query: JoinQuery,
    tree: list[Operator],
    operator: Operator,
    layout: OperatorLayout,
    forecast: Forecast | None,
    measured: Measured | None,
) -> tuple[InputFacts, ...]:
    place = tree.index(operator)
    return tuple(
        InputFacts(
            _name(query, tree, part),
            tuple(_column(query, ref, part) for ref in layout.inputs[number].stored),
            _spread(operator, number),
            forecast.operators[place].inputs[number] if forecast else None,
            measured.operators[place].inputs[number] if measured else None,
        )
        for number, part in enumerate(operator.inputs)
    )


def _spread(operator: Operator, number: int) -> str:
    if operator.sliced:
        return "a slice in every bucket"
    if operator.segment is None:
        return "all in every bucket" if number in operator.replicated else ""
    length = describe_duration(timedelta(microseconds=operator.segment))
    where = "where a partner may be" if number in operator.replicated else "one after the other"
    return f"in segments of {length}, {where}"


def _functions(
    query: JoinQuery, tree: list[Operator], forecast: Forecast | None
) -> tuple[FunctionFacts, ...]:
    late = {number for operator in tree for number in operator.late}
    known = {one.text: one for one in forecast.functions} if forecast else {}
    found = []
    for number, condition in enumerate(query.conditions):
        function = condition.function
        if function is not None:
            cost, share = function.cost, function.selectivity
            if condition.text in known:
                cost, share = known[condition.text].cost.value, known[condition.text].share.value
            found.append(FunctionFacts(condition.text, cost, share, number in late))
    return tuple(found)


def _paths(
    query: JoinQuery, tree: list[Operator], operator: Operator, forecast: Forecast | None
) -> tuple[PathFacts, ...]:
    names = [_name(query, tree, part) for part in operator.inputs]
    place = tree.index(operator)
    return tuple(
        PathFacts(
            names[path.head],
            names[path.sequence[0]],
            _steps(query, operator, path, names),
            forecast.operators[place].paths[number] if forecast else None,
        )
        for number, path in enumerate(operator.paths)
    )


def _steps(query: JoinQuery, operator: Operator, path: ProbePath, names: list[str]) -> tuple[StepFacts, ...]:
    """The windows a row visits, with what it is looked up by and what is judged there."""
    lead, *others = path.sequence
    seen = {lead}
    steps = []
    for part, conditions in zip(others, operator.evaluated(query, path), strict=True):
        scanned = part in operator.replicated or seen <= operator.replicated
        also = operator.also_by(query, seen, part)
        by = [] if operator.key and scanned else _key_of(query, operator, part)
        by = [*by, *_called(query, operator, part, also)]
        texts = dict.fromkeys(query.conditions[number].text for number in conditions)
        steps.append(StepFacts(names[part], ", ".join(by) or "all in reach", tuple(texts)))
        seen.add(part)
    return tuple(steps)


def _deployed(plan: Plan) -> tuple[PathFacts, ...]:
    """The ways of arriving rows where `deploy` runs the join without operators above each other."""
    query = plan.query
    if plan.deployed is None:
        return ()
    found = []
    for head, order in enumerate(plan.deployed.orders):
        done: tuple[int, ...] = (head,)
        steps = []
        for stream in order:
            shared = [a for a in query.attributes if a.among(done) and a.among([stream])]
            ready = ready_conditions(query, set(done), {stream})
            by = ", ".join(attribute.label for attribute in shared) or _nearby(ready, done, stream)
            steps.append(StepFacts(query.names[stream], by, tuple(dict.fromkeys(c.text for c in ready))))
            done = (*done, stream)
        found.append(PathFacts(query.names[head], query.names[head], tuple(steps), None))
    return tuple(found)


def _nearby(ready: list[Condition], done: tuple[int, ...], stream: int) -> str:
    band = number_band((condition.expression for condition in ready), done, [stream])
    return "all in reach" if band is None else f"{band.right.column} nearby"


def _key_of(query: JoinQuery, operator: Operator, part: int) -> list[str]:
    """The key as the input calls it."""
    if not operator.key and operator.band is not None:
        found_by = operator.band.right if part else operator.band.left
        return [f"{found_by.column} nearby"]
    return _called(query, operator, part, operator.key)


def _called(query: JoinQuery, operator: Operator, part: int, attributes: Iterable[int]) -> list[str]:
    """Some attributes as the input calls them."""
    texts = []
    for number in attributes:
        members = [query.attributes[number].members[stream] for stream in operator.inputs[part].streams]
        member = next(member for member in members if member is not None)
        texts.append(member.column or member.text)
    return texts


def _key(query: JoinQuery, operator: Operator) -> str:
    return ", ".join(query.attributes[number].label for number in operator.key)


def _name(query: JoinQuery, tree: list[Operator], part: Source | Operator) -> str:
    return query.names[part.stream] if isinstance(part, Source) else f"operator {tree.index(part) + 1}"


def _column(query: JoinQuery, ref: Ref, part: Source | Operator) -> str:
    plain = isinstance(part, Source) or ref.attribute is not None
    return ref.text(query) if plain else f"{query.names[ref.stream]}.{ref.column}"
