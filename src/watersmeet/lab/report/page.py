"""The page: a summary, a section for every paper, and what was measured on Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from watersmeet.lab.papers.record import RECORD
from watersmeet.lab.report.benchmarks import BENCHMARKS, Benchmark
from watersmeet.lab.report.errata import ERRATA
from watersmeet.lab.report.html import document, folded, grouped, paragraphs, picture, table, words
from watersmeet.lab.report.papers import PARTS, Part

_TITLE = "Watersmeet: five papers, checked"
_LEAD = """\
What five papers on joins of streams claimed, what we measure, and why the two differ. Every verdict is
computed from our figures when the page is made."""
_HOW = """\
A claim about random workloads is judged over several independent draws: "yes" if it holds for all together
and in at least four of five draws, "no" if it does not and fails in at least four of five, "in part"
otherwise. Claims marked "corrected" are what a paper should say, those marked "measured" are about what our
simulators measured. Every plot has its data beside it in `docs/experiments`."""
_KINDS = {"yes": "yes", "in part": "part", "no": "no"}
_MARKS = {"yes": "y", "in part": "p", "no": "n"}


def write_page(experiments: Path, performance: Path, out: Path) -> None:
    """Put the page together from what lies in two folders; what is missing there is said to be."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(experiments, performance), encoding="utf-8")


def page(experiments: Path, performance: Path) -> str:
    """The page as text."""
    papers = {part.name: _read(experiments / part.name / RECORD) for part in PARTS}
    figures = {one.name: _read(performance / f"{one.name}.json") for one in BENCHMARKS}
    body = [f"<h1>{_TITLE}</h1>", paragraphs(_LEAD, "lead"), *_summary(papers), *_headlines(figures)]
    body.append(paragraphs(_HOW, "small"))
    for part in PARTS:
        body += _paper(part, papers[part.name], experiments / part.name)
    body += _performance(figures, performance)
    return document(_TITLE, body)


def _read(file: Path) -> dict[str, Any] | None:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def _claims(paper: dict[str, Any]) -> list[dict[str, Any]]:
    return [claim for experiment in paper["experiments"] for claim in experiment["claims"]]


def _summary(papers: dict[str, dict[str, Any] | None]) -> Iterator[str]:
    rows = []
    for part in PARTS:
        name = f'<a href="#{part.name}">{escape(part.authors)}</a><div class="why">{escape(part.about)}</div>'
        paper = papers[part.name]
        if paper is None:
            rows.append([name, "not run yet", "", "", ""])
            continue
        verdicts = [claim["verdict"] for claim in _claims(paper)]
        counts = {verdict: verdicts.count(verdict) for verdict in _KINDS}
        bars = "".join(
            f'<span class="{_MARKS[verdict]}" style="flex:{count}"></span>'
            for verdict, count in counts.items()
        )
        rows.append([name, f'<div class="bar">{bars}</div>', *map(str, counts.values())])
    yield table(("paper", "claims", "reproduced", "in part", "not"), rows, stack=True)


def _headlines(figures: dict[str, dict[str, Any] | None]) -> Iterator[str]:
    rows = []
    for one in BENCHMARKS:
        measured = figures[one.name]
        if measured is not None:
            figure = one.figures[0]
            link = f'<a href="#performance-{one.name}">{one.name}</a>'
            rows.append([link, words(figure.text), _number(measured["figures"].get(figure.name))])
    if rows:
        yield "<h3>On Spark, at a glance</h3>"
        yield table(("benchmark", "what", "measured"), rows, stack=True)


def _paper(part: Part, paper: dict[str, Any] | None, folder: Path) -> Iterator[str]:
    about = part.about[0].lower() + part.about[1:]
    yield f'<h2 id="{part.name}">{escape(part.authors)}: {escape(about)}</h2>'
    where = [["computed or simulated", words(part.simulated)], ["on Spark", words(part.on_spark)]]
    yield table(("what ran where", ""), where, stack=True)
    if paper is None:
        yield paragraphs(f"Not run yet: `watersmeet bench {part.name}`.")
        return
    yield paragraphs(paper["introduction"])
    for experiment in paper["experiments"]:
        yield from _experiment(experiment, folder)
    yield "<h3>Mistakes in print that change a number</h3>"
    yield table(
        ("where", "printed", "taken here", "what it changes"),
        [[words(e.where), words(e.printed), words(e.taken), words(e.effect)] for e in ERRATA[part.name]],
        stack=True,
    )


def _experiment(experiment: dict[str, Any], folder: Path) -> Iterator[str]:
    yield f"<h3>{words(experiment['title'])}</h3>"
    yield paragraphs(experiment["setting"])
    for one in experiment["tables"]:
        yield table(one["head"], [[words(grouped(cell)) for cell in row] for row in one["rows"]])
    for chart in experiment["charts"]:
        yield picture(folder / f"{chart['name']}.svg", chart["caption"])
    rows = [[_stated(claim), words(claim["found"]), _verdict(claim)] for claim in experiment["claims"]]
    if rows:
        yield table(("claim", "our figures", "holds"), rows, stack=True)


def _stated(claim: dict[str, Any]) -> str:
    origin = "" if claim["origin"] == "paper" else f"{claim['origin']}: "
    why = f'<div class="why">{words(claim["why"])}</div>' if claim["why"] else ""
    return words(origin + claim["text"]) + why


def _verdict(claim: dict[str, Any]) -> str:
    held, draws = claim["draws"]
    of = f", {held} of {draws}" if draws > 1 else ""
    changed = " <strong>changed</strong>" if claim["changed"] else ""
    return f'<span class="{_KINDS[claim["verdict"]]}">{claim["verdict"]}</span><span>{of}</span>{changed}'


def _performance(figures: dict[str, dict[str, Any] | None], folder: Path) -> Iterator[str]:
    yield '<h2 id="performance">Performance on Spark</h2>'
    yield paragraphs(
        "Ratios are measured side by side in one run. All systems are checked to find the same results. "
        "A short run "
        "is as long as a coffee, and starting up weighs more in it; the command beside it gives the long one."
    )
    for one in BENCHMARKS:
        yield from _benchmark(one, figures[one.name], folder / f"{one.name}.svg")


def _benchmark(one: Benchmark, measured: dict[str, Any] | None, plot: Path) -> Iterator[str]:
    yield f'<h3 id="performance-{one.name}">{one.name}</h3>'
    yield paragraphs(one.about)
    if measured is None:
        yield paragraphs(f"Not run yet: `make bench-{one.name}`.")
        return
    rows = [
        [words(figure.text), _number(measured["figures"][figure.name]), "more" if figure.more else "less"]
        for figure in one.figures
        if figure.name in measured["figures"]
    ]
    yield table(("figure", "measured", "better is"), rows)
    if plot.exists():
        yield picture(plot, one.chart)
    on = measured["machine"]
    yield paragraphs(
        f"A {measured['size']} run of {measured['seconds']} s on {on['day']}, commit {on['commit']}: "
        f"{on['processor']}, {on['cores']} cores, {on['memory']}, {on['system']}, "
        f"Python {on['python']}, Spark {on['spark']}. "
        f"`make bench-{one.name}" + (f' ARGS="{measured["arguments"]}"`' if measured["arguments"] else "`"),
        "small",
    )
    yield folded("what it printed", f"<pre>{escape(_trimmed(measured['output']))}</pre>")


def _trimmed(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
