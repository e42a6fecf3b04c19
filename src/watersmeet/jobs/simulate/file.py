"""A file that says what to simulate.

[network]
sites = ["oslo", "bonn"]
latency = "25 ms"                     of all links, with bandwidth, jitter and failures
bandwidth = "1 Mbps"
links = [{ between = ["oslo", "bonn"], latency = "5 ms", failures = [["2 s", "3 s"]] }]
outages = [{ site = "bonn", from = "4 s", to = "5 s" }]

[streams.clicks]
site = "oslo"
window = "3 s"                        or { rows = 100 }
rate = 300                            rows per second, at random with arrivals = "poisson"
columns.key = { values = 1000, distribution = "zipf", theta = 0.9 }
payload = 100                         bytes per row
disorder = "50 ms"
lateness = "50 ms"

[streams.orders]                      or from a file
site = "bonn"
window = "3 s"
file = "orders.csv"
time = "ts"

[query]
on = "key"                            or conditions

[method]
kind = "sequences"                    or "tree", "placed"
planner = "greedy"

[run]
duration = "10 s"
tick = "100 ms"
seed = 1
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from watersmeet.errors import choices
from watersmeet.jobs.settings import Table, read_table, refuse_mistakes
from watersmeet.jobs.simulate.streams import read_streams
from watersmeet.jobs.simulate.values import known_site, made, seconds, spans, tables, to_seconds
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.query.network import network
from watersmeet.sim.fixed_delay import FixedDelay
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.scenario import PLANNERS, Method, Scenario
from watersmeet.sim.simulation import Outage

_LINK = ("latency", "bandwidth", "jitter", "failures")


def read_scenario(path: Path) -> Scenario:
    """Read a file.

    Raises:
        InvalidJob: The file is missing, is not TOML, or says something that makes no sense; all of it.
    """
    table, mistakes = read_table(path, "a file that says what to simulate", "examples/simulate/")
    scenario = _scenario(table, path, mistakes)
    refuse_mistakes(path, mistakes, "examples/simulate/")
    assert scenario is not None, "without a mistake there is a scenario"
    return scenario


def _scenario(root: Table, path: Path, mistakes: list[str]) -> Scenario | None:
    net = root.table("network", needed=True)
    sites = net.texts("sites") or []
    if net.given and not sites:
        net.wrong('"sites" is missing: name the places where streams arrive.')
    given = {name: net.raw(name) for name in _LINK}
    general = _link(net, given) if any(value is not None for value in given.values()) else None
    links = _links(net, sites, given, mistakes)
    outages = _outages(net, sites, mistakes)
    net.refuse_others()
    streams = read_streams(root.table("streams", needed=True), sites, path.parent)
    query = root.table("query", needed=True)
    on = query.texts("on")
    if query.given and not on:
        query.wrong('"on" is missing: name the shared key, or conditions.')
    query.refuse_others()
    method = _method(root.table("method", needed=True), [stream.name for stream in streams])
    run = root.table("run", needed=True)
    duration, tick = seconds(run, "duration"), seconds(run, "tick")
    seed, counted = run.raw("seed"), run.text("bytes")
    if seed is not None and (type(seed) is not int or seed < 0):
        run.wrong(f"seed must be a whole number from 0 up, not {seed!r}")
        seed = None
    delay = _delay(run.table("fixed_delay"))
    run.refuse_others()
    root.refuse_others()
    if mistakes or method is None or on is None:
        return None
    return made(
        run,
        lambda: Scenario(
            streams=streams,
            on=on if len(on) > 1 else on[0],
            links=links,
            link=general,
            method=method,
            duration=duration,
            tick=0.1 if tick is None else tick,
            seed=seed or 0,
            outages=outages,
            delay=delay,
            bytes=counted or "encoded",
            name=path.stem,
        ),
    )


def _link(table: Table, given: dict[str, Any]) -> LinkModel | None:
    found: dict[str, Any] = {}
    said = {name: given[name] for name in ("latency", "bandwidth") if given[name] is not None}
    if said:
        read = made(table, lambda: network(**said))
        if read is None or read.default is None:
            return None
        found = {"latency": read.default.latency.total_seconds(), "bandwidth": read.default.bandwidth}
    if given["jitter"] is not None:
        found["jitter"] = to_seconds(table, "jitter", given["jitter"])
    if given["failures"] is not None:
        found["failures"] = tuple(spans(table, "failures", given["failures"]))
    if None in found.values():
        return None
    found.setdefault("latency", 0.0)
    return made(table, lambda: LinkModel(**found))


def _links(
    net: Table, sites: Sequence[str], general: dict[str, Any], mistakes: list[str]
) -> dict[tuple[str, str], LinkModel]:
    """Links of single pairs; what they leave out is as for all."""
    found = {}
    for number, values in enumerate(tables(net, "links")):
        one = Table(values, f"network.links {number + 1}", mistakes)
        between = one.texts("between") or []
        given = {name: one.raw(name) for name in _LINK}
        one.refuse_others()
        if len(set(between)) != 2:
            one.wrong('"between" must name two sites')
            continue
        for site in between:
            known_site(one, site, sites)
        merged = {name: general[name] if value is None else value for name, value in given.items()}
        link = _link(one, merged)
        if (between[0], between[1]) in found or (between[1], between[0]) in found:
            one.wrong(f'the link between "{between[0]}" and "{between[1]}" is given twice')
        if link is not None:
            found[between[0], between[1]] = link
    return found


def _outages(net: Table, sites: Sequence[str], mistakes: list[str]) -> tuple[Outage, ...]:
    found = []
    for number, values in enumerate(tables(net, "outages")):
        one = Table(values, f"network.outages {number + 1}", mistakes)
        site, begin, end = one.text("site", needed=True), seconds(one, "from"), seconds(one, "to")
        one.refuse_others()
        if site is not None:
            known_site(one, site, sites)
        if begin is None or end is None or not 0 <= begin < end:
            one.wrong('"to" must be later than "from"')
        elif site is not None:
            found.append(Outage(site, round(begin * SECOND), round(end * SECOND)))
    return tuple(found)


def _method(table: Table, streams: Sequence[str]) -> Method | None:
    kind, planner = table.text("kind", needed=True), table.text("planner")
    bloom = table.flag("bloom")
    hops = table.table("hops")
    steps = {head: _hops(hops, head, streams) for head in hops.names()}
    partition = table.table("partition")
    by, groups = (
        partition.text("by", needed=partition.given),
        partition.number("groups", needed=partition.given),
    )
    partition.refuse_others()
    table.refuse_others()
    if kind is None:
        return None
    if hops.given and (kind, planner) != ("sequences", "fixed"):
        table.wrong('"hops" belong to method "sequences" with planner "fixed"')
    default = PLANNERS[kind][0] if kind in PLANNERS else ""
    return made(
        table,
        lambda: Method(
            kind=kind, planner=planner or default, hops=steps, bloom=bloom, partition=by, groups=groups or 1
        ),
    )


def _hops(table: Table, head: str, streams: Sequence[str]) -> list[tuple[str, Algorithm]]:
    found = []
    algorithms = {algorithm.value: algorithm for algorithm in Algorithm}
    if head not in streams:
        table.wrong(f'unknown stream "{head}"; valid are {choices(streams)}.')
    for text in table.texts(head) or []:
        name, _, how = text.partition(" by ")
        if name not in streams:
            table.wrong(f'{head}: unknown stream "{name}"; valid are {choices(streams)}.')
        elif how not in algorithms:
            table.wrong(f'{head}: write "{name} by ..." with one of {choices(algorithms)}, not "{text}"')
        else:
            found.append((name, algorithms[how]))
    return found


def _delay(table: Table) -> FixedDelay | None:
    if not table.given:
        return None
    probe, removal = seconds(table, "probe"), seconds(table, "removal")
    table.refuse_others()
    if probe is None or removal is None:
        table.wrong('needs "probe" and "removal"')
        return None
    return made(table, lambda: FixedDelay(probe, removal))
