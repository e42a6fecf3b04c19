"""A plan between sites as text: what goes where, and what is sent on every link."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from watersmeet.plan.explain.measured import deployed_lines
from watersmeet.plan.explain.numbers import bytes_of, figure, number, seconds
from watersmeet.plan.explain.site_facts import LinkFacts, SiteExplanation
from watersmeet.plan.sites.plan import SiteStep
from watersmeet.stats import Figure

_HEADINGS = {
    "sequences": "arriving rows look into the windows of the others, one after the other",
    "tree": "streams join the results so far, which are kept",
    "placed": "whole joins at sites",
    "one site": "everything is sent to one site",
}


def as_site_text(facts: SiteExplanation) -> str:
    """What is joined, where and how; what is sent; why."""
    return "\n".join(_lines(facts))


def _lines(facts: SiteExplanation) -> Iterator[str]:
    count = len(set(facts.sites))
    places = f"{count} sites" if count > 1 else "one site"
    keys = f" on {', '.join(facts.keys)}" if facts.keys else " without a key"
    yield f"join of {len(facts.streams)} streams at {places}{keys}"
    width = max(len(stream.name) for stream in facts.streams)
    wide = max(map(len, facts.sites))
    for stream, site in zip(facts.streams, facts.sites, strict=True):
        late = f"up to {stream.lateness} late"
        yield f"  {stream.name:<{width}}  at {site:<{wide}}  {stream.alive}, {late}"
    if any(stream.only for stream in facts.streams):
        yield "before the join"
        yield from (f"  {s.name}  only rows with {text}" for s in facts.streams for text in s.only)
    yield (
        f"{facts.method}: {_HEADINGS[facts.method]}" if facts.method != "one site" else _HEADINGS["one site"]
    )
    yield from _sequences(facts) if facts.method == "sequences" else _joins(facts)
    yield from (f"  {how}: {words}" for how, words in facts.legend)
    if facts.afterwards:
        yield "after the join, in Spark"
        yield from (f"  {text}  (the kernel has no {reason})" for text, reason in facts.afterwards)
    yield from _sent(facts)
    yield from _chosen(facts)
    if facts.notes:
        yield "planned without"
        yield from (f"  {note}" for note in facts.notes)
    if facts.verbose:
        yield from _considered(facts)
    if facts.measured is not None:
        expected = {(link.sender, link.receiver): link.bytes for link in facts.links}
        yield from deployed_lines(facts.measured, expected, _results(facts))


def _results(facts: SiteExplanation) -> Figure | None:
    """How many results are expected: those of the last join, or of the last in every sequence."""
    if facts.method == "sequences":
        last = {step.group: step.results for step in facts.steps}
        return sum(last.values(), Figure.exact(0))
    return facts.steps[-1].results if facts.method == "tree" and facts.steps else None


def _sequences(facts: SiteExplanation) -> Iterator[str]:
    width = max(len(step.group) for step in facts.steps)
    for head, steps in groupby(facts.steps, key=lambda step: step.group):
        listed = list(steps)
        hops = " ".join(f"-> {step.joins[0]}{_place(step)}{_matches(step)}" for step in listed)
        sent = sum((step.bytes for step in listed[1:]), listed[0].bytes)
        yield f"  {head:<{width}}  {hops}" + (f"   {bytes_of(sent)} per s" if sent.is_known else "")


def _place(step: SiteStep) -> str:
    return f" at {step.site}" if step.how == "there" else f" by {step.how} at {step.site}"


def _matches(step: SiteStep) -> str:
    return f" = {number(step.results.number)} per s" if step.results.is_known else ""


def _joins(facts: SiteExplanation) -> Iterator[str]:
    width = max(len(step.group) for step in facts.steps)
    for step in facts.steps:
        group = f"{step.group:<{width}}  " if width else ""
        how = f" by {step.how}" if step.how != "join" else ""
        together = " with ".join(step.joins) if len(step.joins) == 2 else ", ".join(step.joins)
        sent = ""
        if step.results.is_known:
            sent = f"   {figure(step.results)} results, {bytes_of(step.bytes)} per s"
        yield f"  {group}{together}{how} at {step.site}{sent}"


def _sent(facts: SiteExplanation) -> Iterator[str]:
    if not facts.links:
        yield "nothing is sent between sites"
        return
    if not facts.bytes.is_known:
        yield "sent between sites"
        yield from (f"  {link.sender} -> {link.receiver}" for link in facts.links)
        return
    yield "sent between sites, per second of event time"
    names = [f"{link.sender} -> {link.receiver}" for link in facts.links]
    width = max(map(len, names))
    for name, link in zip(names, facts.links, strict=True):
        yield f"  {name:<{width}}  {bytes_of(link.bytes)}, {figure(link.rows)} rows{_taken(link)}"
    batches = f"in batches of {seconds(facts.batch.number)}"
    yield f"  all together {bytes_of(facts.bytes)} {batches}{_against(facts)}"


def _taken(link: LinkFacts) -> str:
    words = ""
    if link.price.is_known:
        words += f", {number(link.price.number)} to pay per day"
    if link.load.is_known:
        share = 100 * link.load.number
        words += f", {number(share)} % of its bandwidth"
        words += " ! more than it can take" if share > 100 else ""
    return words


def _against(facts: SiteExplanation) -> str:
    one = facts.one_site
    if one is None or not one.bytes.is_known or facts.method == "one site":
        return ""
    times = one.bytes.number / facts.bytes.number if facts.bytes.number else 0.0
    more = f", {number(times)} times as much" if times > 1 else ""
    return f"; everything sent to {one.site} would be {bytes_of(one.bytes)}{more}"


def _chosen(facts: SiteExplanation) -> Iterator[str]:
    choice = facts.choice
    yield f"chosen: {choice.by}, {choice.why}"
    if choice.skipped:
        yield f"  not searched: {choice.skipped}"


def _considered(facts: SiteExplanation) -> Iterator[str]:
    if not facts.choice.alternatives:
        return
    yield "considered, price per day" if facts.choice.model == "price" else "considered, bytes per s"
    for other in facts.choice.alternatives:
        yield f"  {other.what}: {number(other.cost)}"
