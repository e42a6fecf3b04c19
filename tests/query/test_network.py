"""Sites and links: what is refused, what the user is told, and how links are read.

Would catch: a network that does not fit the streams, a unit that is misread, a mistake reported without the
name of the culprit or the valid choices.
"""

from datetime import timedelta
from typing import Any

import pytest

from watersmeet.errors import InvalidQuery, InvalidStream, WatersmeetError
from watersmeet.query import Column, Stream
from watersmeet.query.network import Link, Network, network, refuse_unfit_network


def stream(name: str, site: Any = None) -> Stream:
    columns = (Column("k", "bigint"), Column("ts", "timestamp"))
    return Stream(name, columns, "ts", timedelta(minutes=1), site=site)


def said(error: pytest.ExceptionInfo[WatersmeetError], fact: str, detail: str, hint: str) -> None:
    assert fact in error.value.fact
    assert detail in error.value.detail
    assert hint in error.value.hint
    assert error.value.hint


def test_links_are_the_same_in_both_directions() -> None:
    net = network(
        latency="25 ms", bandwidth="1 Mbps", links={("tokyo", "oslo"): {"latency": "140 ms", "price": 0.09}}
    )
    assert net.default == Link(timedelta(milliseconds=25), 125_000.0)
    special = Link(timedelta(milliseconds=140), 125_000.0, 0.09)
    assert net.between("tokyo", "oslo") == net.between("oslo", "tokyo") == special
    assert net.between("bonn", "oslo") == net.default


def test_without_a_default_only_named_links_exist() -> None:
    net = network(links={("a", "b"): {"bandwidth": "2 MB/s"}})
    assert net.between("b", "a") == Link(bandwidth=2e6)
    assert net.between("a", "c") is None


@pytest.mark.parametrize(
    ("text", "speed"),
    [("8 bps", 1), ("1 kbps", 125), ("10 mbps", 1.25e6), ("1.5 Gbps", 187.5e6), ("3 kB/s", 3000), (500, 500)],
)
def test_bandwidths(text: Any, speed: float) -> None:
    assert network(bandwidth=text).default == Link(bandwidth=speed)


@pytest.mark.parametrize(
    ("given", "fact", "detail", "hint"),
    [
        ({}, "the network has no link", "neither", 'latency="25 ms"'),
        ({"latency": "-5 ms"}, "latency of every link is negative", "-5 ms", "25 ms"),
        ({"latency": "soon"}, "latency of every link is not a duration", "soon", "25 ms"),
        ({"bandwidth": "0 Mbps"}, "bandwidth of every link is not above zero", "0 bytes", "leave out"),
        ({"bandwidth": -1}, "bandwidth of every link is not above zero", "-1 bytes", "leave out"),
        ({"bandwidth": float("nan")}, "bandwidth of every link is not above zero", "nan", "leave out"),
        ({"bandwidth": "1 Mb/s"}, "bandwidth of every link cannot be read", "1 Mb/s", '"Mbps"'),
        ({"bandwidth": "fast"}, "bandwidth of every link cannot be read", "fast", '"100 Mbps"'),
        ({"bandwidth": True}, "bandwidth of every link cannot be read", "True", '"100 Mbps"'),
        ({"price": -0.1}, "price of every link is not a number from zero up", "-0.1", "gigabyte"),
        ({"price": "1 euro"}, "price of every link is not a number", "1 euro", "gigabyte"),
        ({"links": ["a", "b"]}, "links are not given by pair", "['a', 'b']", "links={"),
        ({"links": {"ab": {}}}, "a link is not between two sites", "'ab'", "links={"),
        ({"links": {("a", "a"): {}}}, 'from site "a" to itself', "needs none", "two sites"),
        ({"links": {("a", "b"): 5}}, 'the link between "a" and "b" is not a table', "5", "links={"),
        (
            {"links": {("a", "b"): {}, ("b", "a"): {}}},
            'the link between "a" and "b" is given twice',
            "both directions",
            "give one",
        ),
        (
            {"links": {("a", "b"): {"delay": 1}}},
            'the link between "a" and "b" has no "delay"',
            "3",
            '"latency", "bandwidth", "price"',
        ),
        (
            {"links": {("b", "a"): {"price": -1}}},
            'price of the link between "a" and "b" is not a number from zero up',
            "-1",
            "gigabyte",
        ),
    ],
)
def test_links_that_cannot_be(given: dict[str, Any], fact: str, detail: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as error:
        network(**given)
    said(error, fact, detail, hint)


@pytest.mark.parametrize("site", ["to kyo", "", "a/b", "..", "-a", "tōkyō", "x" * 65, 7])
def test_sites_that_cannot_be_folders(site: Any) -> None:
    with pytest.raises(InvalidStream) as error:
        stream("orders", site)
    said(error, f'site {site!r} of stream "orders" is not usable', "folder", "letters, digits, - and _")
    if site != 7:
        with pytest.raises(InvalidStream, match="of a link is not usable"):
            network(links={("ok", site): {}})


def test_sites_that_can() -> None:
    assert stream("orders", "eu-west_1").site == "eu-west_1"


@pytest.mark.parametrize(
    ("sites", "net", "fact", "detail", "hint"),
    [
        ((None, None), network(price=1), "no stream has a site", '"a", "b"', 'site="tokyo"'),
        (("oslo", None), None, 'stream "b" has no site', '"oslo"', 'wm.stream("b", ..., site="oslo")'),
        ((None, "oslo"), network(price=1), 'stream "a" has no site', '"oslo"', 'site="oslo"'),
        (
            ("oslo", "bonn"),
            network(links={("oslo", "born"): {}}),
            'no stream arrives at site "born"',
            '"born" and "oslo"',
            'the sites are "bonn", "oslo"',
        ),
        (("oslo", "Oslo"), None, 'sites "Oslo" and "oslo" differ', "folders", "rename"),
        (("oslo", "bonn"), "25 ms", "this is not a network", "str", "wm.network("),
    ],
)
def test_networks_that_do_not_fit(
    sites: tuple[Any, Any], net: Any, fact: str, detail: str, hint: str
) -> None:
    with pytest.raises(InvalidQuery) as error:
        refuse_unfit_network([stream("a", sites[0]), stream("b", sites[1])], net)
    said(error, fact, detail, hint)


def test_networks_that_fit() -> None:
    for sites in ((None, None), ("oslo", "oslo"), ("oslo", "bonn")):
        refuse_unfit_network([stream("a", sites[0]), stream("b", sites[1])], None)
    refuse_unfit_network([stream("a", "oslo"), stream("b", "bonn")], Network(Link()))
