"""What the papers say about messages and state holds in the simulator.

Would catch: a row that is sent twice, or kept at the other site when its window has let go of it; keys that
two sites number differently; a semijoin that sends more than the join without it; traffic that the formulas
do not foresee; a partition that loses or repeats results.
"""

from collections import defaultdict
from datetime import timedelta

import numpy as np
import pytest

from harness.delays import MS, run, ticks, two_streams
from watersmeet.cost.site import Constants
from watersmeet.kernel.sites.ask import Answering, Asking
from watersmeet.kernel.sites.node import Addressed
from watersmeet.kernel.sites.packet import ends
from watersmeet.kernel.sites.part import Part
from watersmeet.kernel.sites.pull import Pulling, Serving
from watersmeet.kernel.sites.sieve import Sifted, Sifting
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.wiring import HeadSideSpec
from watersmeet.sim.distribution import Values
from watersmeet.sim.link import LinkModel
from watersmeet.sim.report import Report
from watersmeet.sim.run import simulate
from watersmeet.sim.scenario import Method, Scenario, SimStream
from watersmeet.sim.simulation import Simulation, encoded_size, same_links
from watersmeet.sim.workload import Generated

SEEDS = range(2)


def at_rest(algorithm: Algorithm, seed: int) -> tuple[list[tuple[Part, Part]], dict[str, list[int]]]:
    """Both sides of each direction when channels are empty and streams have not ended, and rows sent back."""
    query = two_streams()
    wiring = Sequences(((Hop(1, algorithm),), (Hop(0, algorithm),))).wiring(query, ["oslo", "bonn"])
    sent: dict[str, list[int]] = defaultdict(list)

    def size(packets: list[Addressed]) -> int:
        for number, packet in packets:
            edge = wiring.edges[number]
            if edge.way == "answer" and packet.rows is not None:
                (column,) = (name for name in packet.rows.schema.names if name.endswith(".value"))
                sent[edge.sender] += packet.rows.column(column).to_pylist()
        return encoded_size(packets)

    simulation = Simulation(wiring, same_links(LinkModel(latency=0.13)), seed=seed, size=size)
    simulation.run(ticks(query, seed, keys=8)[:-2])
    parts = {name: part for node in simulation.nodes.values() for name, part in node.parts.items()}
    near = [spec.name for spec in wiring.parts if isinstance(spec, HeadSideSpec)]
    return [(parts[name], parts[name.replace("head side", "window side")]) for name in near], sent


@pytest.mark.parametrize("algorithm", [Algorithm.SM_S1, Algorithm.SM_S2, Algorithm.SM_S1_BLOOM])
def test_a_row_is_sent_at_most_once(algorithm: Algorithm) -> None:
    for seed in SEEDS:
        _, sent = at_rest(algorithm, seed)
        assert all(len(rows) > 10 for rows in sent.values())
        for rows in sent.values():
            assert len(set(rows)) == len(rows)


def test_the_copy_is_what_was_sent_and_is_alive() -> None:
    for seed in SEEDS:
        for near, far in at_rest(Algorithm.SM_S1, seed)[0]:
            assert isinstance(near, Asking)
            assert isinstance(far, Answering)
            assert len(far.sent.ends) > 5
            assert near.ends.tolist() == sorted(far.sent.ends.tolist())
            held = np.concatenate([ends(c.rows, near.copy.store.reach) for c in near.copy.store.chunks])
            assert sorted(end for end in held.tolist() if end >= near.ends[0]) == near.ends.tolist()


def test_pulled_keys_have_the_rows_of_the_window() -> None:
    for seed in SEEDS:
        for near, far in at_rest(Algorithm.SM_S2, seed)[0]:
            assert isinstance(near, Pulling)
            assert isinstance(far, Serving)
            assert near.mixed.lists.keys() == far.live.counts.pulled
            for serial, numbers in near.mixed.lists.items():
                # Rows that are gone are told of with the next change.
                assert len(numbers) == far.live.counts.counts[serial]
                here, there = near.copy.store.numbered(np.array(numbers)), far.live.of([serial])
                if serial not in far.live.gone:
                    assert here is not None
                    assert here.equals(there)


@pytest.mark.parametrize("algorithm", [Algorithm.SM_S2, Algorithm.SM_D1])
def test_both_sides_have_the_same_keys_in_the_same_order(algorithm: Algorithm) -> None:
    for seed in SEEDS:
        for near, far in at_rest(algorithm, seed)[0]:
            assert isinstance(near, Pulling | Sifting)
            assert isinstance(far, Serving | Sifted)
            assert list(near.mixed.serials.items()) == list(far.live.counts.serials.items())
            alive = set(far.live.rows[1].tolist()) | set(far.live.gone)
            assert alive == set(far.live.counts.serials.values())


def test_semijoins_send_no_more_rows_than_joins_without() -> None:
    def rows(algorithm: Algorithm, seed: int) -> int:
        measured, _ = run(algorithm, seed, latency=25 * MS)
        return sum(traffic.rows for traffic in measured.traffic.values())

    for seed in SEEDS:
        at_destination, at_source = rows(Algorithm.SP_D, seed), rows(Algorithm.SP_S, seed)
        assert rows(Algorithm.SM_D1, seed) < at_destination
        assert rows(Algorithm.SM_D2, seed) < at_destination
        assert rows(Algorithm.SM_S1, seed) < at_source
        assert rows(Algorithm.SM_S2, seed) < at_source


def test_work_in_seconds() -> None:
    measured, _ = run(Algorithm.SP_D, seed=1, latency=25 * MS)
    seconds = measured.processing(Constants(probe=1.0, insert=100.0, update=300.0, hashing=0.0))
    for site, work in measured.work.items():
        assert seconds[site] == work["probe"] + 100 * work["insert"] + 200 * work["expire"]
    # Rows of 12 ticks travel in both directions; promises are not counted.
    assert measured.transmission == pytest.approx(2 * 12 * 0.025)


def placed(sites: str, method: Method, values: Values | None = None, duration: float = 20) -> Report:
    """Three steady streams, a letter for the site of each."""
    column = values or Values(100)
    streams = tuple(
        SimStream(f"s{number}", site, timedelta(milliseconds=500), Generated(rate, {"key": column}))
        for number, (site, rate) in enumerate(zip(sites, (30, 40, 50), strict=True))
    )
    link = LinkModel(latency=0.01)
    return simulate(Scenario(streams, "key", link=link, method=method, duration=duration, tick=0.5, seed=2))


@pytest.mark.parametrize(
    ("planner", "sites"),
    [
        ("stream_join_opt", "abc"),
        ("stream_join_opt", "aab"),
        ("local", "aab"),
        ("simple", "abc"),
        ("optimal", "abc"),
    ],
)
def test_what_is_sent_is_what_the_formula_says(planner: str, sites: str) -> None:
    report = placed(sites, Method("placed", planner))
    assert report.expected["sent"] > 0
    assert report.sent == pytest.approx(report.expected["sent"], rel=0.04)


def test_streams_at_one_site_send_nothing() -> None:
    report = placed("aaa", Method("placed", "stream_join_opt"), duration=3)
    assert report.results > 0
    assert report.links == ()


def test_groups_of_values_together_are_the_join() -> None:
    skewed = Values(40, "zipf", theta=1.0, hot_spots="random", alike=False)
    whole = placed("abc", Method("placed", "optimal"), skewed, duration=4)
    assert whole.results > 50
    one = placed("abc", Method("placed", "optimal", partition="rate", groups=1), skewed, duration=4)
    assert (one.results, one.latency) == (whole.results, whole.latency)
    assert [(link.sender, link.rows) for link in one.links] == [
        (link.sender, link.rows) for link in whole.links
    ]
    for partition in ("hash", "range", "rate"):
        method = Method("placed", "optimal", partition=partition, groups=5)
        parts = placed("abc", method, skewed, duration=4)
        assert len(parts.plan) > 1
        assert parts.results == whole.results
        assert parts.expected["sent"] <= whole.expected["sent"]
