"""From streams at sites to the plan that joins them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from watersmeet.cost.sizes import Sizes
from watersmeet.errors import InvalidPlanning, InvalidQuery, choices
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.sites.by_bytes import Reached, sequence, tree
from watersmeet.optimize.sites.by_value import placed_by_value
from watersmeet.optimize.sites.loads import Loads, one_way_loads, placed_loads, tree_loads
from watersmeet.optimize.sites.meetings import DEFAULT_TICK, Meetings
from watersmeet.optimize.sites.placed_wiring import placed_wiring
from watersmeet.optimize.sites.placing import everything_at, place, streams_as_inputs
from watersmeet.optimize.sites.planning import AUTO, SitePlanning
from watersmeet.optimize.sites.problem import SiteProblem
from watersmeet.plan.choice import Alternative, Choice
from watersmeet.plan.sites.plan import OneSite, Shape, SitePlan
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.tree import LeftDeep, TwoWayHop
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.network import Network, refuse_unfit_network
from watersmeet.stats import Figure
from watersmeet.stats.check import refuse_foreign_statistics

# A join between sites takes about as long to price as so many steps of a probe order.
_STEPS_PER_JOIN = 4
_CUT = "the search steps ended before every order was searched"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that could be taken.

    Attributes:
        method: Its kind.
        what: Itself, in words.
        shape: What would run.
        loads: What it sends.
        skipped: What was not searched, in words; empty if nothing.
    """

    method: str
    what: str
    shape: Shape
    loads: Loads
    skipped: str = ""


def choose_site_plan(query: JoinQuery, network: Network | None, planning: Planning) -> SitePlan:
    """The plan for a query whose streams arrive at sites.

    What is minimised is the price of all bytes sent, or where nothing has a price the bytes.

    Args:
        query: What to compute.
        network: What lies between sites; None for links between all of them, all alike.
        planning: What is known about the data, and how to choose.
    """
    refuse_unfit_network(query.streams, network)
    _refuse_what_cannot_run(query, planning.sites)
    refuse_foreign_statistics(query, planning.statistics)
    problem = SiteProblem(query, network, Meetings(Sizes(query, planning.statistics)))
    found = [candidate for candidate in _candidates(problem, planning) if candidate.loads.possible]
    if not found:
        raise _no_plan(problem, planning.sites)
    # Of equally cheap ones the first, which is the simplest.
    best = min(found, key=lambda candidate: candidate.loads.preference)
    wiring = _wiring(query, best.shape, problem, planning)
    return SitePlan(
        query=query,
        sites=problem.sites,
        network=network,
        method=best.method,
        shape=best.shape,
        wiring=wiring,
        steps=tuple(best.loads.steps),
        links=best.loads.link_loads(wiring.links()),
        one_site=_one_site(problem),
        choice=_choice(problem, best, found, planning.sites),
        notes=tuple(_notes(problem)),
        batch=Figure.estimated(problem.meetings.tick),
    )


def refuse_query_without_sites(query: JoinQuery) -> None:
    """Raise InvalidPlanning if no stream has a site."""
    if all(stream.site is None for stream in query.streams):
        raise InvalidPlanning(
            "the streams of this query have no site",
            "there is nothing to plan between sites.",
            f'say where rows arrive: wm.stream("{query.names[0]}", ..., site="tokyo").',
        )


def _refuse_what_cannot_run(query: JoinQuery, given: SitePlanning) -> None:
    refuse_query_without_sites(query)
    for stream in query.streams:
        if stream.window.counts_per_key:
            raise InvalidPlanning(
                f'rows of stream "{stream.name}" cannot be counted per key between sites',
                "which rows of a key are alive is known only where all of them meet.",
                "count the rows of the whole stream, wm.rows(n), or join in one place with to_dataframe().",
            )
        if stream.window.counts_rows and given.method not in (AUTO, "sequences"):
            raise InvalidPlanning(
                f'method "{given.method}" cannot join windows of rows',
                f'stream "{stream.name}" has one, and its rows are counted where they arrive.',
                'say method="sequences", or give the stream a window of time.',
            )


def _candidates(problem: SiteProblem, planning: Planning) -> Iterator[Candidate]:
    """The plans to choose from, the simplest first."""
    given = planning.sites
    counted = any(stream.window.counts_rows for stream in problem.query.streams)
    makers: dict[str, Callable[[], Iterator[Candidate]]] = {
        "one site": lambda: _at_one_site(problem),
        "placed": lambda: _placed(problem, given),
        "sequences": lambda: _sequences(problem, planning),
        "tree": lambda: _tree(problem, planning),
    }
    methods = list(makers) if given.method == AUTO else [given.method]
    if given.partition not in (AUTO, "none") or given.groups is not None:
        methods = ["placed"]
    elif given.method == AUTO and (counted or not problem.known):
        methods = ["sequences"]
    for method in methods:
        yield from makers[method]()


def _at_one_site(problem: SiteProblem) -> Iterator[Candidate]:
    for site in problem.places:
        shape = everything_at(problem, site)
        yield Candidate("one site", f"everything at {site}", shape, placed_loads(problem, shape, {}))


def _placed(problem: SiteProblem, given: SitePlanning) -> Iterator[Candidate]:
    exact = given.optimizer != "greedy"
    split = given.partition not in (AUTO, "none") or (given.groups or 1) > 1
    if not split:
        found = place(streams_as_inputs(problem), exact=exact)
        if found is not None:
            yield Candidate("placed", "placed joins", found[0], placed_loads(problem, found[0], {}))
    if given.partition == "none" or given.groups == 1 or not problem.known:
        if split:
            raise _unknown_values(problem)
        return
    plans = list(placed_by_value(problem, given, exact=exact))
    for shape, tables, how in plans:
        yield Candidate("placed", f"placed joins {how}", shape, placed_loads(problem, shape, tables))
    if split and not plans:
        raise _unknown_values(problem)


def _sequences(problem: SiteProblem, planning: Planning) -> Iterator[Candidate]:
    allowed = {"exhaustive": planning.search_steps // _STEPS_PER_JOIN // len(problem.sites), "greedy": 0}
    for name, search_steps in allowed.items():
        if planning.sites.optimizer not in (AUTO, name) or (not problem.known and name == "greedy"):
            continue
        found = [sequence(problem, head, search_steps=search_steps) for head in range(len(problem.sites))]
        ways = [way for way, _ in found if way is not None]
        if len(ways) == len(found):
            hops = tuple(tuple(Hop(min(s.joined), s.algorithm) for s in way.steps) for way in ways)
            cut = not all(complete for _, complete in found) and name == "exhaustive"
            yield Candidate(
                "sequences",
                f"sequences, {name}",
                Sequences(hops),
                one_way_loads(problem, ways),
                _CUT if cut else "",
            )


def _tree(problem: SiteProblem, planning: Planning) -> Iterator[Candidate]:
    greedy = planning.sites.optimizer == "greedy"
    found, complete = tree(problem, search_steps=0 if greedy else planning.search_steps // _STEPS_PER_JOIN)
    if found is not None:
        cut = not complete and not greedy
        yield Candidate(
            "tree",
            "tree",
            _left_deep(found),
            tree_loads(problem, found),
            _CUT if cut else "",
        )


def _left_deep(found: Reached) -> LeftDeep:
    pairs = list(zip(found.steps[::2], found.steps[1::2], strict=True))
    joins = []
    for number, (over, back) in enumerate(pairs):
        last = number == len(pairs) - 1
        home = None if last else over.home or over.site
        joins.append(TwoWayHop(min(over.joined), over.algorithm, back.algorithm, home))
    return LeftDeep(min(pairs[0][0].done), tuple(joins))


def _wiring(query: JoinQuery, shape: Shape, problem: SiteProblem, planning: Planning) -> Wiring:
    if isinstance(shape, Sequences | LeftDeep):
        return shape.wiring(query, problem.sites)
    return placed_wiring(query, shape, problem.sites, planning)


def _one_site(problem: SiteProblem) -> OneSite | None:
    """The best place to send everything to."""
    found = [(site, placed_loads(problem, everything_at(problem, site), {})) for site in problem.places]
    possible = [one for one in found if one[1].possible]
    if not possible:
        return None
    site, loads = min(possible, key=lambda one: one[1].preference)
    links = loads.link_loads(sorted(loads.links))
    return OneSite(site, links, sum((link.bytes for link in links), Figure.exact(0)))


def _choice(problem: SiteProblem, best: Candidate, found: list[Candidate], given: SitePlanning) -> Choice:
    about = "the plan between sites"
    if not problem.known:
        return Choice(
            about, best.what, "keys are asked for first, since too little is known to compare plans"
        )
    others = sorted(
        (Alternative(one.what, one.loads.cost) for one in found if one is not best), key=lambda one: one.cost
    )
    limited = given.method != AUTO or given.partition != AUTO or given.groups is not None
    what = "price" if problem.priced else "bytes"
    return Choice(
        about=about,
        by=best.what,
        why="as asked for"
        if limited and len(found) == 1
        else f"the {'lowest price' if problem.priced else 'fewest bytes'} of {len(found)} plans",
        model=what,
        cost=best.loads.cost,
        alternatives=tuple(others),
        skipped=best.skipped,
    )


def _notes(problem: SiteProblem) -> Iterator[str]:
    """What was not known."""
    if not problem.known:
        missing = problem.meetings.missing()
        yield f"not known: {', '.join(missing) or 'enough to compare plans'}"
        yield "keys go ahead of rows: little more than rows alone at worst, far less where few rows match"
        return
    if not problem.meetings.sizes.statistics.batch_seconds.is_known:
        yield f"a batch is taken to span {DEFAULT_TICK:g} s"


def _no_plan(problem: SiteProblem, given: SitePlanning) -> InvalidQuery:
    """Links are missing: two sites are named that nothing connects, or else two without a link."""
    missing = [pair for pair in combinations(problem.places, 2) if problem.weight(*pair) == math.inf]
    reached = {problem.places[0]}
    while more := [
        p
        for p in problem.places
        if p not in reached and any(problem.weight(p, r) < math.inf for r in reached)
    ]:
        reached.update(more)
    apart = [pair for pair in missing if (pair[0] in reached) != (pair[1] in reached)]
    one, other = (apart or missing)[0]
    method = "" if given.method == AUTO else f' of method "{given.method}"'
    named = [] if problem.network is None else [f"{a} - {b}" for a, b in problem.network.links]
    return InvalidQuery(
        f'there is no link between sites "{one}" and "{other}"',
        f"rows that arrive there must meet, and no plan{method} can do without it.",
        f'add it, links={{("{one}", "{other}"): {{...}}}}, or one for all sites; there are {choices(named)}.',
    )


def _unknown_values(problem: SiteProblem) -> InvalidPlanning:
    labels = [attribute.label for attribute in problem.query.attributes]
    return InvalidPlanning(
        "joins cannot be placed by value",
        f"it is not known how often each value of {choices(labels)} occurs in all streams.",
        'say it with wm.statistics({"orders": {"frequencies": {"k": {7: 0.5}}}}), or leave out partition and '
        "groups.",
    )
