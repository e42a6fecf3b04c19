"""A plan as text, one line per thing a reader asks about."""

from __future__ import annotations

from watersmeet.plan.plan import Plan
from watersmeet.query.duration import describe_duration


def explain(plan: Plan) -> str:
    """Render a plan.

    The first block says what is joined, the second what an arriving row of each stream visits and in
    which order, the third what is stored and where.
    """
    query = plan.query
    width = max(len(name) for name in query.names)
    lines = [f"join of {len(query.streams)} streams on {query.describe_key()}"]
    for stream in query.streams:
        lateness = describe_duration(stream.lateness)
        lines.append(
            f"  {stream.name:<{width}}  alive {describe_duration(stream.window)} after {stream.time}"
            f", up to {lateness} late"
        )
    lines.append("arriving rows visit")
    key = ", ".join(query.keys[0])
    for path in plan.paths:
        head = query.streams[path.head].name
        visited = " -> ".join(
            f"{query.streams[i].name}[{', '.join(query.keys[i]) or key}]" for i in path.order
        )
        lines.append(f"  {head:<{width}}  -> {visited}")
    lines.append("state")
    for stream, kept in zip(query.streams, query.selected, strict=True):
        columns = ", ".join(kept) if kept else "nothing but key and time"
        lines.append(f"  {stream.name:<{width}}  stores {columns}")
    lines.append(
        f"  {plan.buckets} buckets by hash of the key, windows cut into {plan.slices} slices, "
        "no intermediate result stored"
    )
    return "\n".join(lines)
