"""A plan as text, one line per thing a reader asks about."""

from __future__ import annotations

from datetime import timedelta

from watersmeet.plan.layout import OperatorLayout, Ref, layouts
from watersmeet.plan.plan import Operator, Plan, ProbePath, Source, operators
from watersmeet.query import JoinQuery, RowWindow, Stream
from watersmeet.query.duration import describe_duration


def explain(plan: Plan) -> str:
    """Render a plan.

    The first block says what is joined; then, per operator, what an arriving row of each input visits and in
    which order, where conditions are judged, and what is stored.
    """
    tree = operators(plan.root)
    found = layouts(plan)
    lines = [_title(plan, tree), *_streams(plan.query), *_by_windows(plan.query), *_before(plan.query)]
    for number, operator in enumerate(tree, 1):
        lines += _operator(plan, tree, number, operator, found[operator])
    return "\n".join([*lines, *_storage(plan, tree), *_after(plan.query)])


def _title(plan: Plan, tree: list[Operator]) -> str:
    streams = len(plan.query.streams)
    if len(tree) > 1:
        return f"join of {streams} streams in {len(tree)} operators"
    key = _key(plan.query, plan.root)
    return f"join of {streams} streams on {key}" if key else f"join of {streams} streams without a key"


def _streams(query: JoinQuery) -> list[str]:
    width = max(len(name) for name in query.names)
    return [
        f"  {stream.name:<{width}}  {_alive(stream, reach)}, up to {describe_duration(stream.lateness)} late"
        for stream, reach in zip(query.streams, query.reaches, strict=True)
    ]


def _alive(stream: Stream, reach: int | None) -> str:
    limits = [str(stream.window)] if isinstance(stream.window, RowWindow) else []
    if reach is not None:
        length = timedelta(microseconds=reach)
        why = "" if length == stream.window else ", from the conditions on time"
        limits.append(f"alive {describe_duration(length)} after {stream.time}{why}")
    return ", ".join(limits)


def _by_windows(query: JoinQuery) -> list[str]:
    if not query.by_windows:
        return []
    return ["seen to by these windows", *(f"  {text}" for text in query.by_windows)]


def _before(query: JoinQuery) -> list[str]:
    if not query.filters:
        return []
    return [
        "before the join",
        *(f"  {query.names[f.stream]}  only rows with {f.text}" for f in query.filters),
    ]


def _storage(plan: Plan, tree: list[Operator]) -> list[str]:
    """How rows are spread, and what is kept between operators."""
    spread = "by hash of the key" if plan.root.key else "without a key"
    between = "no intermediate result stored"
    if len(tree) > 1:
        between = "results of one operator stored in the next"
    lines = [f"  {plan.buckets} buckets {spread}, windows cut into {plan.slices} slices, {between}"]
    if plan.counted(plan.root):
        lines.append("  rows wait for the watermark, since windows of rows are known only then")
    return lines


def _after(query: JoinQuery) -> list[str]:
    if not query.afterwards:
        return []
    return [
        "after the join, in Spark",
        *(f"  {rest.text}  (the kernel has no {rest.reason})" for rest in query.afterwards),
    ]


def _operator(
    plan: Plan, tree: list[Operator], number: int, operator: Operator, layout: OperatorLayout
) -> list[str]:
    names = [_name(plan.query, tree, part) for part in operator.inputs]
    width = max(map(len, names))
    key = _key(plan.query, operator)
    by = f"on {key}" if key else "without a key"
    heading = f"operator {number} {by}: " if len(tree) > 1 else ""
    lines = [f"{heading}arriving rows visit"]
    lines += [
        f"  {names[path.head]:<{width}}  {_path(plan.query, operator, path, names)}"
        for path in operator.paths
    ]
    lines.append("state" if len(tree) == 1 else f"state of operator {number}")
    for part, (name, spec) in enumerate(zip(names, layout.inputs, strict=True)):
        stored = ", ".join(_column(plan.query, ref, operator.inputs[part]) for ref in spec.stored)
        copies = ", in every bucket" if part in operator.replicated else ""
        lines.append(f"  {name:<{width}}  stores {stored or 'nothing but key and time'}{copies}")
    return lines


def _path(query: JoinQuery, operator: Operator, path: ProbePath, names: list[str]) -> str:
    """The windows a row visits, with what it is looked up by and what is judged there."""
    judged = operator.evaluated(query, path)
    seen = {path.head}
    steps = []
    for part, conditions in zip(path.order, judged, strict=True):
        scanned = part in operator.replicated or seen <= operator.replicated
        how = "all in reach" if operator.key and scanned else _key_of(query, operator, part)
        texts = list(dict.fromkeys(query.conditions[number].text for number in conditions))
        compared = [
            _equality(query, number)
            for number in operator.checks
            if _has(query, number, operator, {part}) and _has(query, number, operator, seen)
        ]
        tests = " and ".join([*compared, *texts])
        steps.append(f"-> {names[part]}[{how}]" + (f" if {tests}" if tests else ""))
        seen.add(part)
    return " ".join(steps)


def _equality(query: JoinQuery, attribute: int) -> str:
    members = query.attributes[attribute].members
    return " = ".join(member.text for member in members if member is not None)


def _has(query: JoinQuery, attribute: int, operator: Operator, parts: set[int]) -> bool:
    streams = {stream for part in parts for stream in operator.inputs[part].streams}
    return bool(streams & set(query.attributes[attribute].streams))


def _key_of(query: JoinQuery, operator: Operator, part: int) -> str:
    """The key as the input calls it."""
    texts = []
    for number in operator.key:
        members = [query.attributes[number].members[stream] for stream in operator.inputs[part].streams]
        member = next(member for member in members if member is not None)
        texts.append(member.column or member.text)
    return ", ".join(texts) or "all in reach"


def _key(query: JoinQuery, operator: Operator) -> str:
    return ", ".join(query.attributes[number].label for number in operator.key)


def _name(query: JoinQuery, tree: list[Operator], part: Source | Operator) -> str:
    return query.names[part.stream] if isinstance(part, Source) else f"operator {tree.index(part) + 1}"


def _column(query: JoinQuery, ref: Ref, part: Source | Operator) -> str:
    if ref.column.startswith("="):
        member = query.attributes[int(ref.column[1:])].members[ref.stream]
        return "" if member is None else member.text
    return ref.column if isinstance(part, Source) else f"{query.names[ref.stream]}.{ref.column}"
