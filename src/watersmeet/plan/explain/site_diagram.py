"""A plan between sites as a picture: a Mermaid flowchart with a frame around every site."""

from __future__ import annotations

from collections.abc import Iterator

from watersmeet.plan.explain.diagram import box, quoted
from watersmeet.plan.explain.numbers import bytes_of, figure
from watersmeet.plan.explain.site_facts import SiteExplanation
from watersmeet.plan.sites.plan import SiteStep


def as_site_mermaid(facts: SiteExplanation) -> str:
    """Streams and joins at their sites, and what goes between them."""
    return "\n".join(_lines(facts))


def _lines(facts: SiteExplanation) -> Iterator[str]:
    yield "flowchart LR"
    places = list(dict.fromkeys([*facts.sites, *(_place(step) for step in facts.steps)]))
    for number, site in enumerate(places):
        yield f"  subgraph p{number}[{quoted(site)}]"
        for stream, (one, at) in enumerate(zip(facts.streams, facts.sites, strict=True)):
            if at == site:
                yield "  " + box(f"s{stream}", "([", "])", one.name, one.alive)
        for place, step in enumerate(facts.steps):
            if _place(step) == site:
                yield "  " + box(f"j{place}", "[", "]", *_words(facts, step))
        yield "  end"
    yield from _arrows(facts)


def _place(step: SiteStep) -> str:
    return step.site.split(" ")[0]


def _words(facts: SiteExplanation, step: SiteStep) -> list[str]:
    if facts.method == "sequences":
        return [f"{step.group} → {step.joins[0]}", *([] if step.how == "there" else [step.how])]
    return [*([step.group] if step.group else []), " ⋈ ".join(step.joins), *_how(step)]


def _how(step: SiteStep) -> list[str]:
    return [] if step.how == "join" else [step.how]


def _arrows(facts: SiteExplanation) -> Iterator[str]:
    names = [stream.name for stream in facts.streams]
    # Who has the results of some streams, for a group of values or for all.
    made: dict[tuple[str, str], str] = {("", name): f"s{number}" for number, name in enumerate(names)}
    last: dict[str, str] = {}
    inner: set[str] = set()
    for number, step in enumerate(facts.steps):
        own = f"j{number}"
        if facts.method == "sequences":
            before = last.get(step.group, made["", step.group])
            yield f"  {before} -->{_label(step)} {own}"
            yield f"  {made['', step.joins[0]]} -.- {own}"
            inner.add(before)
            last[step.group] = own
            continue
        group = "" if facts.method == "tree" else step.group
        for place, name in enumerate(step.joins):
            before = made.get((group, name)) or made["", name]
            yield f"  {before} -->{_label(step) if place == 0 else ''} {own}"
            inner.add(before)
        streams = [name for joined in step.joins for name in joined.split("+")]
        together = "+".join(sorted(streams, key=names.index))
        made[group, together] = made["", together] = own
    yield box("results", "([", "])", "results")
    for number in range(len(facts.steps)):
        if f"j{number}" not in inner:
            yield f"  j{number} --> results"


def _label(step: SiteStep) -> str:
    if not step.bytes.is_known:
        return ""
    return f"|{quoted(f'{bytes_of(step.bytes)}/s, {figure(step.results)} results/s')}|"
