"""The page: a summary, a section for every paper, and what was measured on Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from watersmeet.errors import WatersmeetError
from watersmeet_lab.papers.record import RECORD
from watersmeet_lab.report.benchmarks import BENCHMARKS
from watersmeet_lab.report.errata import ERRATA
from watersmeet_lab.report.html import (
    anchor,
    data_link,
    document,
    grouped,
    paragraphs,
    picture,
    section,
    table,
    words,
)
from watersmeet_lab.report.papers import PARTS, Part
from watersmeet_lab.report.performance import SECTION, headlines, performance

_TITLE = "Watersmeet: five papers, checked"
_LEAD = """\
What five papers on joins of streams claimed, what we measure, and why the two differ. Every verdict is
computed from our figures, and where it is not a plain yes the reason stands below it."""
_HOW = """\
A claim about random workloads is judged over several independent draws: "yes" if it holds for all together
and in at least four of five draws, "no" if it does not and fails in at least four of five, "in part"
otherwise. Counted above are claims of the papers. Claims marked "corrected" are what a paper should say,
those marked "measured" are about what we measured beside it: these are ours, and counted apart. Thin bars in
plots are the range of the draws.

The experiments of the papers begin with a seed and come out alike on every machine, at sizes that take a
minute or two; `make report ARGS=--full` takes the papers' sizes. What was measured on Spark depends on the
machine, which stands beside it."""
_KINDS = {"yes": "yes", "in part": "part", "no": "no"}
_MARKS = {"yes": "y", "in part": "p", "no": "n"}

Record = dict[str, Any]


class DamagedRecord(WatersmeetError, ValueError):
    """What a part of the report left behind cannot be read."""


def write_page(experiments: Path, folder: Path, out: Path) -> None:
    """Put the page together from what lies in two folders; what is missing there is said to be."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(experiments, folder), encoding="utf-8")


def page(experiments: Path, folder: Path) -> str:
    """The page as text, from the records of papers and of benchmarks."""
    papers = {part.name: _read(experiments / part.name / RECORD) for part in PARTS}
    figures = {one.name: _read(folder / f"{one.name}.json") for one in BENCHMARKS}
    body = [f'<h1 id="top">{_TITLE}</h1>', paragraphs(_LEAD, "lead"), *_summary(papers), *headlines(figures)]
    body += [paragraphs(_HOW, "small"), *_contents(papers)]
    for part in PARTS:
        body += _paper(part, papers[part.name], experiments / part.name)
    body += performance(figures, folder)
    return document(_TITLE, body)


def _read(file: Path) -> Record | None:
    if not file.exists():
        return None
    try:
        found: Record = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedRecord(
            f"{file.name} in {file.parent.name} is damaged", f"{error}.", "run it again."
        ) from None
    return found


def _summary(papers: Mapping[str, Record | None]) -> Iterator[str]:
    rows = []
    for part in PARTS:
        name = (
            f'<a href="#{part.name}">{escape(part.authors)}</a><div>{escape(part.about)}.</div>'
            f'<div class="why">{escape(part.in_short)}</div>'
        )
        paper = papers[part.name]
        if paper is None:
            rows.append([name, "not run yet", "", "", "", ""])
            continue
        claims = [claim for experiment in paper["experiments"] for claim in experiment["claims"]]
        theirs = [claim["verdict"] for claim in claims if claim["origin"] == "paper"]
        ours = [claim["verdict"] for claim in claims if claim["origin"] != "paper"]
        counts = {verdict: theirs.count(verdict) for verdict in _KINDS}
        bars = "".join(
            f'<span class="{_MARKS[verdict]}" style="flex:{count}"></span>'
            for verdict, count in counts.items()
        )
        held = f"{ours.count('yes')} of {len(ours)}"
        rows.append([name, f'<div class="bar">{bars}</div>', *map(str, counts.values()), held])
    head = ("paper", "its claims", "reproduced", "in part", "not", "of ours hold")
    yield table(head, rows, stack=True)


def _contents(papers: Mapping[str, Record | None]) -> Iterator[str]:
    yield "<nav>"
    for part in PARTS:
        paper = papers[part.name]
        titles = [] if paper is None else [experiment["title"] for experiment in paper["experiments"]]
        yield _entry(part.name, part.authors, [(anchor(part.name, title), title) for title in titles])
    yield _entry(SECTION, "Performance on Spark", [(anchor(SECTION, b.name), b.name) for b in BENCHMARKS])
    yield "</nav>"


def _entry(target: str, title: str, below: list[tuple[str, str]]) -> str:
    links = "".join(f'<li><a href="#{where}">{words(name)}</a></li>' for where, name in below)
    return f'<section><a href="#{target}">{escape(title)}</a><ul>{links}</ul></section>'


def _paper(part: Part, paper: Record | None, folder: Path) -> Iterator[str]:
    about = part.about[0].lower() + part.about[1:]
    yield section(part.name, f"{part.authors}: {about}")
    yield paragraphs(part.in_short, "lead")
    where = [["computed or simulated", words(part.simulated)], ["on Spark", words(part.on_spark)]]
    yield table(("what ran where", ""), where, stack=True)
    if paper is None:
        yield paragraphs(f"Not run yet: `watersmeet-lab {part.name}`.")
        return
    yield paragraphs(paper["introduction"])
    for experiment in paper["experiments"]:
        yield from _experiment(part, experiment, folder)
    yield "<h3>Mistakes in print that change a number</h3>"
    yield table(
        ("where", "printed", "taken here", "what it changes"),
        [[words(e.where), words(e.printed), words(e.taken), words(e.effect)] for e in ERRATA[part.name]],
        stack=True,
    )


def _experiment(part: Part, experiment: Record, folder: Path) -> Iterator[str]:
    yield f'<h3 id="{anchor(part.name, experiment["title"])}">{words(experiment["title"])}</h3>'
    yield paragraphs(experiment["setting"])
    for one in experiment["tables"]:
        yield table(one["head"], [[words(grouped(cell)) for cell in row] for row in one["rows"]])
    for chart in experiment["charts"]:
        yield picture(folder / f"{chart['name']}.svg", chart["caption"])
    names = [one["name"] for one in (*experiment["tables"], *experiment["charts"])]
    yield data_link([f"../experiments/{part.name}/{name}.csv" for name in names])
    claims = experiment["claims"]
    if claims:
        yield table(
            ("claim", "our figures", "holds"),
            [[_stated(claim), words(claim["found"]), _verdict(claim)] for claim in claims],
            notes=[words(claim["why"]) for claim in claims],
        )


def _stated(claim: Record) -> str:
    origin = "" if claim["origin"] == "paper" else f"{claim['origin']}: "
    return words(origin + claim["text"])


def _verdict(claim: Record) -> str:
    held, draws = claim["draws"]
    of = f", {held} of {draws} draws" if draws > 1 else ""
    changed = " <strong>changed</strong>" if claim["changed"] else ""
    return f'<span class="{_KINDS[claim["verdict"]]}">{claim["verdict"]}</span><span>{of}</span>{changed}'
