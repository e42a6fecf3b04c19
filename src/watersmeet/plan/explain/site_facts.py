"""What there is to say about a plan between sites, before it is put into words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from watersmeet.plan.choice import Choice
from watersmeet.plan.explain.facts import StreamFacts, stream_facts
from watersmeet.plan.measured import MeasuredDeployment
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.plan import OneSite, SitePlan, SiteStep
from watersmeet.stats import ABSENT, Figure

_SECONDS_PER_DAY = 86_400
_GIGABYTE = 1e9

# What travels, for people who do not know the names by heart.
LEGEND = {
    Algorithm.SP_S: "rows of the window are sent to the arriving ones",
    Algorithm.SP_D: "arriving rows are sent to the window",
    Algorithm.SM_S1: "keys there, rows of the window that have one of them back",
    Algorithm.SM_S2: "keys of the window are known, rows of those that are met are pulled and kept current",
    Algorithm.SM_D1: "keys of the window are known, arriving rows that have one are sent",
    Algorithm.SM_D2: "keys there, which of them match back, then the rows that do",
    Algorithm.SM_S1_BLOOM: "as SM-S1, keys in a Bloom filter",
    Algorithm.SM_D1_BLOOM: "as SM-D1, keys in Bloom filters",
    Algorithm.SM_D2_BLOOM: "as SM-D2, keys in Bloom filters",
}


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What goes from one site to another per second, and what that takes of the link.

    Attributes:
        sender: The one.
        receiver: The other.
        rows: Rows.
        bytes: All bytes.
        load: Which share of its bandwidth; absent where it has no limit.
        price: What it costs in a day; absent where nothing has a price.
    """

    sender: str
    receiver: str
    rows: Figure
    bytes: Figure
    load: Figure
    price: Figure


@dataclass(frozen=True, slots=True)
class SiteExplanation:
    """A whole plan between sites."""

    streams: tuple[StreamFacts, ...]
    sites: tuple[str, ...]
    keys: tuple[str, ...]
    method: str
    steps: tuple[SiteStep, ...]
    legend: tuple[tuple[str, str], ...]
    links: tuple[LinkFacts, ...]
    bytes: Figure
    one_site: OneSite | None
    afterwards: tuple[tuple[str, str], ...]
    choice: Choice
    notes: tuple[str, ...]
    batch: Figure
    measured: MeasuredDeployment | None
    verbose: bool


def site_explanation(
    plan: SitePlan, measured: MeasuredDeployment | None, *, verbose: bool
) -> SiteExplanation:
    """Gather the facts."""
    used = {word for step in plan.steps for word in step.how.split()}
    return SiteExplanation(
        streams=stream_facts(plan.query),
        sites=plan.sites,
        keys=tuple(attribute.label for attribute in plan.query.attributes),
        method=plan.method,
        steps=plan.steps,
        legend=tuple((how.value, words) for how, words in LEGEND.items() if how.value in used),
        links=tuple(
            LinkFacts(
                sender=one.sender,
                receiver=one.receiver,
                rows=one.rows,
                bytes=one.bytes,
                load=_load(plan, number),
                price=_price(plan, number),
            )
            for number, one in enumerate(plan.links)
        ),
        bytes=plan.bytes,
        one_site=plan.one_site,
        afterwards=tuple((rest.text, rest.reason) for rest in plan.query.afterwards),
        choice=plan.choice,
        notes=plan.notes,
        batch=plan.batch,
        measured=measured,
        verbose=verbose,
    )


def _load(plan: SitePlan, number: int) -> Figure:
    sent = plan.links[number]
    link = None if plan.network is None else plan.network.between(sent.sender, sent.receiver)
    return ABSENT if link is None or link.bandwidth == math.inf else sent.bytes / link.bandwidth


def _price(plan: SitePlan, number: int) -> Figure:
    sent = plan.links[number]
    link = None if plan.network is None else plan.network.between(sent.sender, sent.receiver)
    if link is None or plan.choice.model != "price":
        return ABSENT
    return sent.bytes * (link.price * _SECONDS_PER_DAY / _GIGABYTE)
