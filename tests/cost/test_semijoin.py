"""The six one-way joins at the setting of the paper, and the trends of its Fig. 7 that the formulas have.

Would catch: a term lost or counted twice, bytes added to seconds, first and second stream mixed up in a
semijoin, a latency charged for a message that is not sent, statistics of results that do not add up.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin, match_prob, output, survival
from watersmeet.cost.site import HERE, Constants, Link, Setting, SiteStream, Work
from watersmeet.errors import InvalidQuery
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm

SP_S, SP_D, SM_S1, SM_S2, SM_D1, SM_D2 = PUBLISHED
AT_SOURCE = SP_S, SM_S1, SM_S2
AT_DESTINATION = SP_D, SM_D1, SM_D2

# Tran & Lee 2010, Sect. 5.3.1: 250 attributes of 5 bytes, f = 0.1, 300 rows/s, 3 s, 25 ms, 1024 Kbps, 100 ms.
FIRST = SiteStream(node=0, rate=300, window=3, distinct=10, full=1250, partial=5)
SECOND = replace(FIRST, node=1)
LINK = Link(latency=0.025, bandwidth=128_000)


def work(
    algorithm: Algorithm,
    second: SiteStream = SECOND,
    *,
    first: SiteStream = FIRST,
    link: Link = LINK,
    setting: Setting | None = None,
) -> Work:
    return FORMULAS[algorithm](OneWayJoin(first, second, link, setting or Setting()))


def with_f(f: float) -> SiteStream:
    return replace(SECOND, distinct=1 / f)


def rounded(found: Work) -> tuple[float, float, float]:
    return round(found.total, 4), round(found.transmission, 4), round(found.processing, 4)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        (SP_S, (3.4503, 3.1797, 0.2706)),
        (SP_D, (3.4503, 3.1797, 0.2706)),
        (SM_S1, (4.0448, 3.6839, 0.3609)),
        (SM_S2, (3.1839, 3.1797, 0.0042)),
        (SM_D1, (3.4563, 3.1797, 0.2766)),
        (SM_D2, (4.0511, 3.6875, 0.3636)),
    ],
)
def test_the_default_setting(algorithm: Algorithm, expected: tuple[float, float, float]) -> None:
    assert rounded(work(algorithm)) == expected


def test_charging_for_empty_messages() -> None:
    """SM-S2 then sends three messages per tick and SM-D1 two, as if one were not enough."""
    literal = Setting(literal_empty=True)
    seen = {algorithm: round(work(algorithm, setting=literal).transmission, 4) for algorithm in PUBLISHED}
    assert seen == {SP_S: 3.1797, SP_D: 3.1797, SM_S1: 3.6839, SM_S2: 3.6797, SM_D1: 3.4297, SM_D2: 3.6875}


def test_a_kilobit_is_a_thousand_bits() -> None:
    assert round(work(SP_S, link=Link(0.025, 131_072)).transmission, 4) == 3.1110


def by_hand(algorithm: Algorithm, first: SiteStream, second: SiteStream, n: float, c: Constants) -> Work:
    """Appendix B once more, letter by letter, for 25 ms and 128000 B/s."""
    r1, r2, f1, f2 = first.rate, second.rate, 1 / first.distinct, 1 / second.distinct
    big1, big2, small1, small2 = first.full, second.full, first.partial, second.partial
    w2, wp1, wp2 = r2 * second.window, r1 / n, r2 / n
    f12, f21 = min(1, f1 / f2), min(1, f2 / f1)
    k2, m1, m2 = min(1 / f2, w2), min(1 / f1, wp1), min(1 / f2, wp2)
    cp, ci, cu, ch = c.probe, c.insert, c.update, c.hashing

    def s(size: float) -> float:
        return 0.025 + size / 128_000 if size else 0.0

    return {
        SP_S: Work(n * s(wp2 * big2), r1 * cu + r1 * cp * w2 + r2 * cu),
        SP_D: Work(n * s(wp1 * big1), r1 * ci + r1 * cp * w2 + r2 * cu),
        SM_S1: Work(
            n * s(m1 * small1) + n * s(wp2 * f21 * big2) + n * s(c.message),
            r1 * ci + n * m1 * cp * w2 + n * wp2 * f21 * ci + r2 * ci + r1 * cp * w2 * f21,
        ),
        SM_S2: Work(
            n * s(k2 * (1 - f12) * small2)
            + n * s(k2 * (1 - f12) * big2)
            + n * s(m2 * (1 - f21) * small2 + wp2 * f21 * big2),
            r1 * ci
            + 2 * r1 * ch
            + n * k2 * (1 - f12) * cp * w2
            + r2 * cp * k2
            + r2 * ci
            + n * m2 * (1 - f21) * (ci + cu),
        ),
        SM_D1: Work(
            n * s(wp1 * f12 * big1) + n * s(m2 * (1 - f21) * small2),
            r1 * ci
            + r1 * cp * k2
            + r1 * f12 * cp * w2
            + r2 * cp * k2
            + r2 * ci
            + 2 * n * m2 * (1 - f21) * ci,
        ),
        SM_D2: Work(
            n * s(m1 * small1) + n * s(m1 * f12 * small1) + n * s(wp1 * f12 * big1),
            r1 * ci + n * m1 * cp * w2 + n * m1 * f12 * cp * wp1 + n * wp1 * f12 * cp * w2 + r2 * cu,
        ),
    }[algorithm]


@pytest.mark.parametrize("algorithm", PUBLISHED)
@pytest.mark.parametrize(("d1", "d2"), [(8, 50), (50, 8), (20, 20)])
@pytest.mark.parametrize("tick", [0.05, 0.5])
def test_the_formulas_with_every_parameter_different(
    algorithm: Algorithm, d1: float, d2: float, tick: float
) -> None:
    first = SiteStream(node=0, rate=110, window=2, distinct=d1, full=700, partial=6)
    second = SiteStream(node=1, rate=40, window=0.7, distinct=d2, full=300, partial=9)
    constants = Constants(probe=2e-6, insert=3e-6, update=5e-6, hashing=7e-6, message=11)
    found = work(algorithm, second, first=first, setting=Setting(tick=tick, constants=constants))
    expected = by_hand(algorithm, first, second, 1 / tick, constants)
    assert found.transmission == pytest.approx(expected.transmission)
    assert found.processing == pytest.approx(expected.processing)


def test_the_one_that_asks_less_often_is_cheaper_when_nothing_is_filtered() -> None:
    """The paper's text has it the other way round; its reason, fewer messages, has it this way."""
    for f in (0.02, 0.06, 0.1, 0.5):
        for tick in (0.05, 0.1, 1.0):
            first, second = replace(FIRST, distinct=1 / f), with_f(f)
            cost = {
                algorithm: work(algorithm, second, first=first, setting=Setting(tick=tick)).total
                for algorithm in PUBLISHED
            }
            assert cost[SM_S2] <= cost[SM_S1]
            assert cost[SM_D1] <= cost[SM_D2]


def rises(values: list[float]) -> bool:
    return all(low < high for low, high in pairwise(values))


def falls(values: list[float]) -> bool:
    return rises(values[::-1])


def level(values: list[float]) -> bool:
    return max(values) - min(values) < 1e-12


@pytest.mark.parametrize(
    "scaled",
    [
        pytest.param(lambda scale: replace(SECOND, full=scale * SECOND.full), id="7a, size of a row"),
        pytest.param(lambda scale: replace(SECOND, rate=scale * SECOND.rate), id="7b, rate"),
    ],
)
def test_source_and_destination_cross_at_equal_streams(scaled: Callable[[float], SiteStream]) -> None:
    scales = [0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0]
    for source, destination in zip(AT_SOURCE, AT_DESTINATION, strict=True):
        assert rises([work(source, scaled(scale)).transmission for scale in scales])
        assert level([work(destination, scaled(scale)).transmission for scale in scales])
    # SP-S with SP-D, SM-S1 with SM-D2, SM-S2 with SM-D1: as many messages when nothing is filtered.
    for source, destination in ((SP_S, SP_D), (SM_S1, SM_D2), (SM_S2, SM_D1)):
        assert work(source, scaled(0.8)).total < work(destination, scaled(0.8)).total
        assert work(source, scaled(1.2)).total > work(destination, scaled(1.2)).total
    assert work(SP_S).total == pytest.approx(work(SP_D).total)


def test_fig_7c_keys_of_the_second_stream() -> None:
    few, many = [0.02, 0.04, 0.06, 0.08, 0.1], [0.1, 0.12, 0.14, 0.16, 0.18, 0.2]
    for simple in (SP_S, SP_D):
        assert level([work(simple, with_f(f)).total for f in few + many])
    for source in (SM_S1, SM_S2):
        assert rises([work(source, with_f(f)).total for f in few])
    # The formula of SM-S2 charges for asking from here on, against the figure.
    assert level([work(SM_S1, with_f(f)).total for f in many])
    for destination in (SM_D1, SM_D2):
        assert falls([work(destination, with_f(f)).total for f in many])


def test_fig_7d_window() -> None:
    """SM-S2 looks keys up in a table, so the figure's growth is not in its formula."""
    for algorithm in PUBLISHED:
        costs = [work(algorithm, replace(SECOND, window=window)).total for window in (1, 2, 3, 4, 5)]
        assert level(costs) if algorithm is SM_S2 else rises(costs)


def test_fig_7e_f_g_latency_bandwidth_and_tick() -> None:
    for algorithm in PUBLISHED:
        latencies = (0.005, 0.015, 0.025, 0.035, 0.045)
        assert rises([work(algorithm, link=replace(LINK, latency=latency)).total for latency in latencies])
        bandwidths = [32_000 * 2**power for power in range(5)]
        assert falls([work(algorithm, link=replace(LINK, bandwidth=size)).total for size in bandwidths])
        ticks = (0.05, 0.1, 0.2, 0.4)
        assert falls([work(algorithm, setting=Setting(tick=tick)).total for tick in ticks])


def test_fig_7f_filtering_is_worth_less_on_a_fast_link() -> None:
    for simple, filtering, f in ((SP_S, SM_S1, 0.02), (SP_D, SM_D1, 0.5)):
        links = [Link(0.025, 32_000 * 2**power) for power in range(5)]
        gains = [
            work(simple, with_f(f), link=link).total - work(filtering, with_f(f), link=link).total
            for link in links
        ]
        assert gains[0] > 0
        assert falls(gains)


def test_a_batch_has_no_more_keys_than_rows() -> None:
    """At 10 rows/s a batch of 0.1 s is one row, not the 50 keys that Table 4 gives it."""
    slow = replace(FIRST, rate=10, distinct=50)
    sent = [
        work(SM_D2, replace(SECOND, distinct=50), first=slow, setting=setting).transmission
        for setting in (Setting(), Setting(literal_keys=True))
    ]
    # Two of its messages are keys of 5 bytes, ten times a second.
    assert sent[1] - sent[0] == pytest.approx(2 * 10 * 49 * 5 / 128_000)


def test_detailed_charges_for_counts_and_for_all_rows_of_a_key() -> None:
    detailed = Setting(detailed=True)
    # Nothing is asked for: 10 counts of 4 bytes ride along, or need a message of their own.
    more = {
        algorithm: work(algorithm, setting=detailed).total - work(algorithm).total for algorithm in PUBLISHED
    }
    assert more[SM_S2] == pytest.approx(10 * 40 / 128_000)
    assert more[SM_D1] == pytest.approx(10 * (0.025 + 40 / 128_000))
    assert [more[algorithm] for algorithm in (SP_S, SP_D, SM_S1, SM_D2)] == [0, 0, 0, 0]
    # Half of the 5 keys are asked for; a key has 900 / 5 rows in the window.
    asked = with_f(0.2)
    rows = work(SM_S2, asked, setting=detailed).transmission - work(SM_S2, asked).transmission
    assert rows == pytest.approx(10 * (2.5 * 179 * 1250 + 5 * 4) / 128_000)


@pytest.mark.parametrize("literal", [False, True])
def test_nothing_travels_within_a_node(literal: bool) -> None:
    setting = Setting(literal_empty=literal)
    for algorithm in PUBLISHED:
        near = work(algorithm, with_f(0.02), link=HERE, setting=setting)
        assert near.transmission == 0
        assert near.processing == work(algorithm, with_f(0.02), setting=setting).processing


def test_silent_streams_cost_nothing() -> None:
    silent = replace(FIRST, rate=0)
    for algorithm in PUBLISHED:
        assert work(algorithm, replace(silent, node=1), first=silent).total == 0


def test_survival_is_of_the_first_stream() -> None:
    """Of 50 keys 10 have a partner among 10; of those 10 all have one."""
    assert survival(with_f(0.02), FIRST) == 0.2
    assert survival(FIRST, with_f(0.02)) == 1
    assert match_prob(FIRST, with_f(0.02)) == match_prob(with_f(0.02), FIRST) == 0.02


def test_statistics_of_results() -> None:
    second = SiteStream(node=4, rate=20, window=6, distinct=40, full=80, partial=3)
    found = output(FIRST, second, node=4)
    assert (found.node, found.full, found.partial, found.distinct) == (4, 1330, 5, 10)
    # 300 rows/s meet 120 rows each, every 40th of them a partner.
    assert found.rate == pytest.approx(900)
    assert found.window == pytest.approx(2)


def test_on_one_attribute_the_order_does_not_change_the_results() -> None:
    streams = [FIRST, replace(SECOND, distinct=40, rate=7), replace(SECOND, distinct=3, window=0.5)]
    one, other = streams[1:]
    here = output(output(FIRST, one, 0), other, 0)
    there = output(output(FIRST, other, 0), one, 0)
    assert here.rate == pytest.approx(there.rate)
    assert here.rate == pytest.approx(300 * 21 * 150 / 40 / 10)
    assert (here.full, here.distinct) == (there.full, there.distinct)
    assert here.window == pytest.approx(there.window)


@pytest.mark.parametrize(
    ("kind", "field", "value", "rule"),
    [
        (FIRST, "rate", -1, "rate of the stream at node 0 must be 0 or more"),
        (FIRST, "rate", math.nan, "rate of the stream at node 0 must be 0 or more"),
        (FIRST, "rate", math.inf, "rate of the stream at node 0 must be 0 or more"),
        (FIRST, "window", 0, "window of the stream at node 0 must be above 0 s"),
        (FIRST, "distinct", 0.5, "distinct keys of the stream at node 0 must be 1 or more"),
        (FIRST, "partial", 0, "bytes of a key of the stream at node 0 must be above 0"),
        (FIRST, "full", 4, "bytes of a row of the stream at node 0 must be those of its key or more"),
        (LINK, "latency", -1, "latency of a link must be 0 s or more"),
        (LINK, "bandwidth", 0, "bandwidth of a link must be above 0"),
        (Constants(), "update", -1, "constant update must be 0 or more"),
        (Setting(), "tick", 0, "tick must be above 0 s"),
    ],
    ids=str,
)
def test_nonsense_is_refused(
    kind: SiteStream | Link | Constants | Setting, field: str, value: float, rule: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        replace(kind, **{field: value})
    assert refused.value.fact == rule
    assert refused.value.detail == f"it is {value:g}."
