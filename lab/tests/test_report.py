"""The report is one page that needs nothing else, and says what is missing or has changed.

Would catch: a paper, benchmark or figure that is left out, a verdict that is not shown, a page that loads
something from elsewhere, our own claims counted as the paper's, a benchmark that fails unnoticed.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from watersmeet.plot.chart import Chart, Line, Panel, Table
from watersmeet_lab.papers.bench import Paper, Step, bench
from watersmeet_lab.papers.claim import Claim, fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.report.__main__ import main
from watersmeet_lab.report.benchmarks import (
    BENCHMARKS,
    Benchmark,
    BenchmarkFailed,
    details_of,
    run_benchmark,
)
from watersmeet_lab.report.errata import ERRATA
from watersmeet_lab.report.page import DamagedRecord, page
from watersmeet_lab.report.papers import PARTS

CLAIMS = (
    Claim("Costs fall & stay <low>.", "from 3 to 2", holds=True, draws=(True, True)),
    Claim("They rise again.", "they do not", holds=False, known=fails("The paper takes `T` for tau.")),
    Claim("Nobody expected this.", "it came", holds=False),
    Claim("Ours is not the paper's.", "it is not", holds=True, origin="measured"),
)


class Watched(HTMLParser):
    """Which elements there are, and whether all that are opened are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.links: list[str] = []
        self.anchors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name == "src"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.anchors += [value or "" for name, value in attrs if name == "id"]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """One paper and one benchmark; the others were not run yet."""
    chart = Chart("fig1", "What falls", (Panel("costs", "x", "y", (Line("ours", (1, 2), (3, 2)),)),))
    table = Table("tab1", ("plan", "ours", "printed"), (("1234", "16,000", "16000"),))
    experiment = Experiment("Fig. 1", "All *computed* with `T = 1`.", CLAIMS, (chart,), (table,))
    paper = Paper("Loops", "Who and when.", "watersmeet-lab golab", (Step("Fig. 1", lambda _: experiment),))
    bench(paper, tmp_path / "experiments" / "golab")
    performance = tmp_path / "report" / "performance"
    performance.mkdir(parents=True)
    machine = dict.fromkeys(("processor", "cores", "memory", "system", "python", "spark", "day"), "1")
    kept = {"name": "sites", "size": "full", "arguments": "", "seconds": 9, "output": ["a < b"]}
    figures = {"semijoin_byte_share": 0.0304, "pmjoin_tuple_share": 0.00112}
    kept |= {"figures": figures, "machine": machine | {"commit": "abc123"}}
    (performance / "sites.json").write_text(json.dumps(kept))
    return tmp_path


def test_everything_is_on_the_page(docs: Path) -> None:
    text = page(docs / "experiments", docs / "report" / "performance")
    reader = Watched()
    reader.feed(text)
    assert reader.open == []
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.sources)
    inside = {link.removeprefix("#") for link in reader.links if link.startswith("#")}
    assert inside <= set(reader.anchors)
    assert len(set(reader.anchors)) == len(reader.anchors)
    for link in reader.links:
        assert link.startswith("#") or (docs / "report" / link).exists(), link
    assert not re.search(r"url\(|@import", text)
    for part in PARTS:
        assert f'id="{part.name}"' in text
    assert text.count("Not run yet") == len(PARTS) - 1 + len(BENCHMARKS) - 1
    for piece in (
        "Costs fall &amp; stay &lt;low&gt;.",
        '<span class="yes">yes</span><span>, 2 of 2 draws</span>',
        "All <em>computed</em> with",
        "The paper takes <code>T</code> for tau.",
        '<span class="no">no</span><span></span> <strong>changed</strong>',
        "16,000",
        "0.0304",
        "commit abc123",
        "a &lt; b",
    ):
        assert piece in text, piece
    for erratum in ERRATA["golab"]:
        assert erratum.where in text


def test_our_own_claims_are_counted_apart(docs: Path) -> None:
    text = page(docs / "experiments", docs / "report" / "performance")
    row = re.search(r'<tr><td data-head="paper"><a href="#golab">.*?</tr>', text)
    assert row is not None
    cells = re.findall(r"<td[^>]*>(\d[^<]*)</td>", row[0])
    assert cells == ["1", "0", "2", "1 of 1"]


def test_systems_that_were_compared_stand_side_by_side(docs: Path) -> None:
    one = next(one for one in BENCHMARKS if one.compares)
    folder = docs / "report" / "performance"
    kept = json.loads((folder / "sites.json").read_text()) | {"name": one.name, "figures": {}}
    (folder / f"{one.name}.json").write_text(json.dumps(kept))
    done = {"results": 1234, "rate": 1000.4, "steady": 56789.1}
    systems = {"ours": done, "flink": "not done after 9 s", "duckdb": done | {"steady": None}}
    row = {"name": "q23", "about": "bids & more", "systems": systems}
    names = {"ours": "Watersmeet", "flink": "Flink", "duckdb": "DuckDB"}
    details_of(one, folder).write_text(json.dumps({"rows": [row], "names": names}))
    text = page(docs / "experiments", folder)
    for piece in ("56,789 (1,000)", "not done after 9 s", ">(1,000)<", "1,234", "q23: bids &amp; more"):
        assert piece in text, piece


def test_a_plot_that_is_missing_is_said_to_be(docs: Path) -> None:
    (docs / "experiments" / "golab" / "fig1.svg").unlink()
    assert "The plot fig1.svg is missing" in page(docs / "experiments", docs / "report" / "performance")


def test_a_damaged_record_is_named(docs: Path) -> None:
    (docs / "experiments" / "golab" / "page.json").write_text("{")
    with pytest.raises(DamagedRecord, match=r"page\.json in golab is damaged"):
        page(docs / "experiments", docs / "report" / "performance")


def test_every_paper_has_its_mistakes() -> None:
    assert ERRATA.keys() == {part.name for part in PARTS}


def test_the_page_alone_is_put_together_again(docs: Path) -> None:
    assert main(["--docs", str(docs), "--only"]) == 0
    assert (docs / "report" / "index.html").read_text().startswith("<!doctype html>")


def test_there_is_no_such_part(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--docs", str(docs), "--only", "golub"])
    assert 'there is no part "golub"; valid are "golab"' in capsys.readouterr().err


def test_a_benchmark_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFailed, match="No module named"):
        run_benchmark(Benchmark("nothing", "", (), ()), tmp_path, full=True)
