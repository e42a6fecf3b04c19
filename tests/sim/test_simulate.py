"""`watersmeet simulate` as people use it: its files, what it refuses, what it prints and writes.

Would catch: a method that gives other results than the others, a result file that differs from run to run, a
mistake in a file that is not told or is told without what would be right.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from watersmeet.cli import main
from watersmeet.jobs.simulate.file import read_scenario
from watersmeet.sim.run import simulate

EXAMPLES = Path(__file__).parents[2] / "examples" / "simulate"
SCENARIO = """
[network]
sites = ["oslo", "bonn", "rome"]
latency = "25 ms"
bandwidth = "1 Mbps"

[streams.a]
site = "oslo"
window = "600 ms"
rate = 40
payload = 50
columns.key = { values = 20 }

[streams.b]
site = "bonn"
window = "600 ms"
rate = 20
arrivals = "poisson"
columns.key = { values = 20, distribution = "zipf", theta = 0.8 }

[streams.c]
site = "rome"
window = "600 ms"
rate = 20
columns.key = { values = 10, distribution = "normal" }

[query]
on = "key"

[method]
kind = "sequences"

[run]
duration = "2 s"
tick = "200 ms"
seed = 5
"""
FIXED = """
planner = "fixed"
hops.a = ["b by SP-S", "c by SM-D2"]
hops.b = ["c by SP-D", "a by SM-S1"]
hops.c = ["a by SM-D1", "b by SM-S2"]
"""


def written(folder: Path, text: str = SCENARIO) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


def with_method(text: str) -> str:
    return SCENARIO.replace('kind = "sequences"', text)


def refused(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["simulate", str(written(folder, text))]) == 2
    return capsys.readouterr().err


def test_every_method_gives_the_same_results(tmp_path: Path) -> None:
    methods = [
        'kind = "sequences"',
        f'kind = "sequences"\n{FIXED}',
        'kind = "sequences"\nplanner = "exhaustive"\nbloom = true',
        'kind = "tree"',
        'kind = "placed"\nplanner = "simple"',
        'kind = "placed"\npartition = { by = "range", groups = 3 }',
    ]
    reports = [simulate(read_scenario(written(tmp_path, with_method(method)))) for method in methods]
    assert reports[0].results > 40
    assert {report.results for report in reports} == {reports[0].results}
    assert len({report.sent for report in reports}) > 3
    assert reports[1].plan[0] == "a -> b by SP-S -> c by SM-D2"


def test_conditions_instead_of_a_key(tmp_path: Path) -> None:
    chain = 'on = ["a.key = b.key", "b.key = c.key", "c.ts >= b.ts"]'
    for method in ('kind = "sequences"', 'kind = "placed"'):
        text = with_method(method).replace('on = "key"', chain)
        assert simulate(read_scenario(written(tmp_path, text))).results > 0


def test_the_same_file_gives_the_same_result_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jittery = SCENARIO.replace('latency = "25 ms"', 'latency = "25 ms"\njitter = "40 ms"')
    path = written(tmp_path, jittery)
    outs = [tmp_path / "one.json", tmp_path / "two.json"]
    for out in outs:
        assert main(["simulate", str(path), "--out", str(out)]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    found: dict[str, Any] = json.loads(outs[0].read_text())
    printed = capsys.readouterr().out
    assert f"{found['results']} results in 2 s" in printed
    assert found["latency"]["min"] <= found["latency"]["median"] <= found["latency"]["max"]
    assert found["work"]["total"] > found["work"]["transmission"] > 0
    assert found["streams"][0]["rows"] == 80


def test_outages_failures_and_late_rows(tmp_path: Path) -> None:
    calm = simulate(read_scenario(written(tmp_path)))
    outage = (
        'sites = ["oslo", "bonn", "rome"]\noutages = [{ site = "bonn", from = "900 ms", to = "1700 ms" }]'
    )
    link = 'links = [{ between = ["oslo", "rome"], failures = [["900 ms", "1500 ms"]] }]\n\n[streams.a]'
    text = SCENARIO.replace('sites = ["oslo", "bonn", "rome"]', outage).replace("[streams.a]", link)
    rough = simulate(read_scenario(written(tmp_path, text)))
    assert rough.results == calm.results
    assert rough.latency["max"] > calm.latency["max"] + 0.1
    text = SCENARIO.replace("payload = 50", 'disorder = "500 ms"\nlateness = "100 ms"')
    assert simulate(read_scenario(written(tmp_path, text))).streams[0].late > 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('site = "oslo"', 'site = "osol"'), 'unknown site "osol"; valid are "oslo", "bonn", "rome".'),
        (('latency = "25 ms"', 'latency = "-25 ms"'), "latency of every link is negative"),
        (('bandwidth = "1 Mbps"', 'bandwidth = "0 Mbps"'), "bandwidth of every link is not above zero"),
        (('bandwidth = "1 Mbps"', 'bandwith = "1 Mbps"'), 'did you mean "bandwidth"?'),
        (("normal", "gauss"), 'unknown distribution "gauss"; valid are "uniform", "normal"'),
        (('"sequences"', '"magic"'), 'unknown method "magic"; valid are "sequences", "tree", "placed"'),
        (
            ('"sequences"', '"tree"\nplanner = "greedy"'),
            'unknown planner of method "tree" "greedy"; valid are',
        ),
        (("rate = 40", "rate = -4"), "rate of a stream must be 0 or more; it is -4"),
        (('duration = "2 s"', ""), "the simulation would never end"),
        (('tick = "200 ms"', 'tick = "0 s"'), "a tick must last longer than 0 s"),
        (("seed = 5", "seed = -5"), "seed must be a whole number from 0 up"),
        (('"sequences"', '"sequences"\npartition = { by = "hash", groups = 2 }'), "cannot be partitioned"),
        (('"sequences"', '"sequences"\nplanner = "fixed"\nhops.a = ["b by SP-X"]'), 'with one of "SP-S"'),
        (
            ('"sequences"', '"sequences"\nplanner = "fixed"\nhops.a = ["b by SP-S"]'),
            "every other stream once",
        ),
        (
            ('on = "key"', 'on = ["a.key = b.key", "lower(a.key) = c.key"]'),
            '"lower(a.key)" is more than a column',
        ),
        (('on = "key"', 'on = ["key", "a.key > 3"]'), 'condition "a.key > 3" is not simulated'),
        (('"600 ms"', '{ session = "600 ms" }'), "session windows are not simulated"),
        (('"600 ms"', '"latest"'), "counts the rows of each key"),
        (("payload = 50", 'payload = 50\nfile = "x.csv"\ntime = "ts"'), "there is no file"),
        (("seed = 5", 'fixed_delay = { probe = "80 ms" }'), '[run.fixed_delay] needs "probe" and "removal"'),
        (('latency = "25 ms"\nbandwidth = "1 Mbps"', ""), 'there is no link between "bonn" and "oslo"'),
    ],
)
def test_nonsense_is_refused_with_what_would_be_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], told: str
) -> None:
    assert change[0] in SCENARIO
    assert told in refused(tmp_path, SCENARIO.replace(*change), capsys)


@pytest.mark.parametrize("kind", ["tree", "placed"])
def test_fixed_delays_need_windows_of_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    text = SCENARIO + 'fixed_delay = { probe = "300 ms", removal = "2 s" }\n'
    exact = simulate(read_scenario(written(tmp_path))).results
    assert simulate(read_scenario(written(tmp_path, text))).results == exact
    assert simulate(read_scenario(written(tmp_path, text.replace('2 s" }', '30 ms" }')))).results < exact
    told = refused(tmp_path, text.replace("sequences", kind), capsys)
    assert "windows of time of whole streams" in told


def test_files_are_joined(tmp_path: Path) -> None:
    for name, keys in (("left", "aba"), ("right", "bac")):
        rows = [f"2026-05-01T12:00:0{second},{key}" for second, key in enumerate(keys)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["at,key", *rows, ""]))
    streams = "".join(
        f'[streams.{name}]\nsite = "{name}"\nwindow = "1 s"\nfile = "{name}.csv"\ntime = "at"\n'
        for name in ("left", "right")
    )
    rest = '[query]\non = "key"\n[method]\nkind = "placed"\npartition = { by = "rate", groups = 2 }\n[run]\n'
    network = '[network]\nsites = ["left", "right"]\nlatency = "1 ms"\n'
    report = simulate(read_scenario(written(tmp_path, network + streams + rest)))
    # b: 1 and 0, a: 0 and 1, 2 and 1 are a second apart.
    assert report.results == 3
    assert [stream.rows for stream in report.streams] == [3, 3]


def test_all_mistakes_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        SCENARIO.replace("normal", "gauss").replace("seed = 5", "seed = -5").replace('"oslo"\n', '"osol"\n')
    )
    assert "has 3 mistakes" in refused(tmp_path, text, capsys)


@pytest.mark.parametrize("name", ["semijoin", "pmjoin"])
def test_the_examples_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / f"{name}.toml")]) == 0
    printed = capsys.readouterr().out
    assert "after their last row: min" in printed
    assert max(map(len, printed.splitlines())) <= 100
