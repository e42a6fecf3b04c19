"""A plan as a picture: a Mermaid flowchart, which many viewers and editors draw."""

from __future__ import annotations

from watersmeet.plan.explain.facts import Explanation, InputFacts, OperatorFacts
from watersmeet.plan.explain.numbers import figure


def as_mermaid(facts: Explanation) -> str:
    """Streams, operators and results, with what flows between them."""
    lines = ["flowchart LR"]
    ids = {stream.name: f"s{number}" for number, stream in enumerate(facts.streams)}
    for stream in facts.streams:
        only = [f"only {text}" for text in stream.only]
        lines.append(box(ids[stream.name], "([", "])", stream.name, stream.alive, *only))
    for operator in facts.operators:
        own = ids[f"operator {operator.number}"] = f"o{operator.number}"
        title = f"join on {operator.key}" if operator.key else "join without a key"
        if len(facts.operators) > 1:
            title = f"operator {operator.number}: {title}"
        lines.append(box(own, "[", "]", title, *_ways(operator)))
        lines += [f"  {ids[part.name]} -->{_flow(part)} {own}" for part in operator.inputs]
    last = f"o{facts.operators[-1].number}"
    lines.append(box("results", "([", "])", "results", *(text for text, _ in facts.afterwards)))
    output = f"|{quoted(figure(facts.expected.output, 'per s'))}|" if facts.expected else ""
    lines.append(f"  {last} -->{output} results")
    return "\n".join(lines)


def _ways(operator: OperatorFacts) -> list[str]:
    return [
        " → ".join([path.lead, *(step.visits for step in path.steps)])
        if path.lead == path.head
        else f"new {path.head}: " + " → ".join([path.lead, *(step.visits for step in path.steps)])
        for path in operator.paths
    ]


def _flow(part: InputFacts) -> str:
    words = []
    if part.expected is not None and part.expected.rate.is_known:
        words += [figure(part.expected.rate, "rows/s"), figure(part.expected.state_rows, "stored")]
    if part.spread:
        words.append(part.spread)
    return f"|{quoted(', '.join(words))}|" if words else ""


def box(name: str, left: str, right: str, *lines: str) -> str:
    """A node with some lines of text."""
    return f"  {name}{left}{quoted('<br/>'.join(lines))}{right}"


def quoted(text: str) -> str:
    """Mermaid reads quotes and angle brackets as its own; the line breaks are ours."""
    for mark, code in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(mark, code)
    return '"' + text.replace("#lt;br/#gt;", "<br/>") + '"'
