"""Plans between sites, kept as files to be read: what goes where, what is sent, what else was considered.

Would catch: a plan or a figure that changes without anybody noticing. After a change that is meant, run with
WATERSMEET_GOLDEN=write and read the difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.steady import Steady, even, known, query_of
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.sites.choose import choose_site_plan
from watersmeet.optimize.sites.planning import SitePlanning
from watersmeet.plan.explain import explain_sites
from watersmeet.plan.sites.plan import SitePlan
from watersmeet.query import RowWindow
from watersmeet.query.network import Network, network

FOLDER = Path(__file__).parent / "golden"
ORDERS = Steady(20, 60, {"k": even(*range(500))}, 400, "tokyo")
PAYMENTS = Steady(5, 600, {"k": even(*range(490, 990))}, 100, "oslo")
MAILS = Steady(0.5, 300, {"k": even(*range(400, 600))}, 2000, "bonn")
THREE = {"orders": ORDERS, "payments": PAYMENTS, "mails": MAILS}
# How often each value occurs, in turn: a value frequent here is rare there.
HOT = {
    "one": Steady(100, 5, {"k": {1: 0.001, 2: 0.001, 3: 0.998}}, 50, "tokyo"),
    "two": Steady(50, 5, {"k": {1: 0.0006, 2: 0.9986, 3: 0.0008}}, 50, "oslo"),
    "three": Steady(50, 5, {"k": {1: 0.9994, 2: 0.0002, 3: 0.0004}}, 50, "bonn"),
}
PRICED = network(
    latency="20 ms",
    bandwidth="10 Mbps",
    price=0.01,
    links={("tokyo", "oslo"): {"latency": "140 ms", "price": 0.09}},
)
NO_WAY_ROUND = network(links={("tokyo", "oslo"): {"bandwidth": "64 kbps"}, ("oslo", "bonn"): {}})

CASES: dict[str, tuple[dict[str, Steady], Network | None, dict[str, Any]]] = {
    "auto": (THREE, None, {}),
    "sequences": (THREE, PRICED, {"method": "sequences"}),
    "tree": (THREE, NO_WAY_ROUND, {"method": "tree"}),
    "placed": (THREE, PRICED, {"method": "placed", "partition": "none"}),
    "by-value": (HOT, None, {}),
    "one-site": (THREE, PRICED, {"method": "one site"}),
    "rows": ({**THREE, "mails": Steady(0.5, RowWindow(100), MAILS.keys, 2000, "oslo")}, None, {}),
}


def plan_of(case: str) -> SitePlan:
    streams, net, given = CASES[case]
    planning = Planning(known(streams), sites=SitePlanning(**given))
    return choose_site_plan(query_of(streams, ["k"]), net, planning)


def check(name: str, text: str) -> None:
    path = FOLDER / f"sites-{name}"
    if os.environ.get("WATERSMEET_GOLDEN") == "write":
        path.write_text(text + "\n")
    assert text + "\n" == path.read_text()


@pytest.mark.parametrize("case", CASES)
def test_a_plan_is_as_it_was(case: str) -> None:
    check(f"{case}.txt", explain_sites(plan_of(case), verbose=True))


@pytest.mark.parametrize("case", ["sequences", "tree", "by-value"])
def test_a_picture_is_as_it_was(case: str) -> None:
    check(f"{case}.mermaid", explain_sites(plan_of(case), form="mermaid"))


def test_the_same_facts_for_programs() -> None:
    plan = plan_of("sequences")
    facts = json.loads(explain_sites(plan, form="json"))
    assert facts["method"] == "sequences"
    assert [stream["name"] for stream in facts["streams"]] == list(THREE)
    assert facts["sites"] == ["tokyo", "oslo", "bonn"]
    assert len(facts["steps"]) == 6
    assert facts["bytes"]["value"] == pytest.approx(sum(link["bytes"]["value"] for link in facts["links"]))
    assert facts["one_site"]["bytes"]["value"] == plan.one_site.bytes.value if plan.one_site else False


def test_without_statistics_there_are_no_figures() -> None:
    query = query_of(THREE, ["k"])
    check("unknown.txt", explain_sites(choose_site_plan(query, None, Planning()), verbose=True))
