"""How a query is joined between sites: plain data, chosen by `optimize.sites`, explained and run."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.plan.choice import Choice
from watersmeet.plan.sites.placed import Tree
from watersmeet.plan.sites.sequences import Sequences
from watersmeet.plan.sites.tree import LeftDeep
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.network import Network
from watersmeet.stats import ABSENT, Figure

# What runs: rows of every stream take their own way through the windows of the others; one order for all,
# with intermediate results kept; or whole joins at sites.
Shape = Sequences | LeftDeep | Tree


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What is sent from one site to another, per second of event time.

    Attributes:
        sender: The one.
        receiver: The other.
        rows: Rows.
        bytes: All bytes, keys and frames included.
    """

    sender: str
    receiver: str
    rows: Figure
    bytes: Figure


@dataclass(frozen=True, slots=True)
class SiteStep:
    """One join of a plan, for people.

    Attributes:
        group: What it belongs to: the stream that heads a sequence, or the values that go this way.
        joins: What meets: the streams so far, then what is joined with them.
        how: By which algorithm, one for each direction if there are two.
        site: Where results come out.
        results: How many, per second.
        bytes: What is sent for it, per second.
    """

    group: str
    joins: tuple[str, ...]
    how: str
    site: str
    results: Figure
    bytes: Figure


@dataclass(frozen=True, slots=True)
class OneSite:
    """All streams sent to one site as they are.

    Attributes:
        site: The site for which least is sent.
        links: What is sent.
        bytes: All of it together.
    """

    site: str
    links: tuple[LinkLoad, ...]
    bytes: Figure


@dataclass(frozen=True, slots=True)
class SitePlan:
    """How a query is joined between sites.

    Attributes:
        query: What is joined.
        sites: Where each stream arrives.
        network: What lies between sites; None if nothing was said.
        method: ``"sequences"``, ``"tree"``, ``"placed"`` or ``"one site"``.
        shape: What runs.
        wiring: The parts that run it.
        steps: The joins, one by one.
        links: What is sent from site to site.
        one_site: What it would take to join everything in one place; None if no site can be reached by all.
        choice: How it was chosen.
        notes: What was assumed or left out, for people.
        batch: Seconds of event time a batch spans.
    """

    query: JoinQuery
    sites: tuple[str, ...]
    network: Network | None
    method: str
    shape: Shape
    wiring: Wiring
    steps: tuple[SiteStep, ...]
    links: tuple[LinkLoad, ...]
    one_site: OneSite | None
    choice: Choice
    notes: tuple[str, ...] = ()
    batch: Figure = ABSENT

    @property
    def bytes(self) -> Figure:
        """What is sent in all, per second."""
        return sum((link.bytes for link in self.links), Figure.exact(0))
