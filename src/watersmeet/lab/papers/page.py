"""Experiments as a page in Markdown: what was claimed, what we found, the plots, the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill

from watersmeet.lab.papers.chart import Chart, Table
from watersmeet.lab.papers.claim import Claim, Verdict

_WIDTH = 120
_MARKS = {Verdict.REPRODUCED: "yes", Verdict.EXPLAINED: "no", Verdict.OPEN: "**no, open**"}


@dataclass(frozen=True, slots=True)
class Experiment:
    """What came out of one experiment.

    Attributes:
        title: The figure or table of the paper, and what it is about.
        setting: What was computed from what; what the paper leaves open and how we filled it in.
        claims: What is held against the figures.
        charts: The figures as plots.
        tables: The figures as tables.
    """

    title: str
    setting: str
    claims: tuple[Claim, ...]
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


def page(title: str, introduction: str, command: str, experiments: Sequence[Experiment]) -> str:
    """The whole page.

    Args:
        title: Its heading.
        introduction: What the reader should know before.
        command: What writes it.
        experiments: In their order.
    """
    parts = [
        f"# {title}",
        _paragraphs(introduction),
        f"`{command}` writes this page, its plots and its data. Every verdict is computed from the figures.",
        _overview(experiments),
        *(part for experiment in experiments for part in _section(experiment)),
    ]
    return "\n\n".join(parts) + "\n"


def tally(claims: Iterable[Claim]) -> str:
    """How many of some claims hold.

    >>> tally([Claim("a", "", holds=True), Claim("b", "", holds=False, why_not="a slip of the pen")])
    '1 of 2 reproduced'
    """
    verdicts = [claim.verdict for claim in claims]
    text = f"{verdicts.count(Verdict.REPRODUCED)} of {len(verdicts)} reproduced"
    unexplained = verdicts.count(Verdict.OPEN)
    return f"{text}, {unexplained} not explained" if unexplained else text


def _overview(experiments: Sequence[Experiment]) -> str:
    rows = []
    for experiment in experiments:
        published = [claim for claim in experiment.claims if claim.origin == "paper"]
        corrected = [claim for claim in experiment.claims if claim.origin == "corrected"]
        rows.append((experiment.title, tally(published), tally(corrected) if corrected else ""))
    return _table(("experiment", "what the paper claims", "what it should claim"), rows)


def _section(experiment: Experiment) -> list[str]:
    parts = [f"## {experiment.title}", _paragraphs(experiment.setting)]
    parts += [_table(table.head, table.rows) for table in experiment.tables]
    for chart in experiment.charts:
        parts.append(f"![{chart.caption}]({chart.name}.svg)")
    names = [table.name for table in experiment.tables] + [chart.name for chart in experiment.charts]
    files = [f"[{name}.csv]({name}.csv)" for name in names]
    if files:
        parts.append(f"Data: {', '.join(files)}")
    rows = [(_stated(claim), claim.found, _MARKS[claim.verdict]) for claim in experiment.claims]
    parts.append(_table(("claim", "ours", "reproduced"), rows))
    differences: dict[str, list[str]] = {}
    for claim in experiment.claims:
        if claim.verdict is Verdict.EXPLAINED:
            differences.setdefault(claim.why_not, []).append(claim.text)
    if differences:
        items = [
            fill(f"- *{' '.join(texts)}* {' '.join(why_not.split())}", _WIDTH, subsequent_indent="  ")
            for why_not, texts in differences.items()
        ]
        parts.append("What differs, and why:\n\n" + "\n".join(items))
    return parts


def _paragraphs(text: str) -> str:
    return "\n\n".join(fill(" ".join(part.split()), _WIDTH) for part in text.split("\n\n"))


def _stated(claim: Claim) -> str:
    return f"corrected: {claim.text}" if claim.origin == "corrected" else claim.text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), _row(["---"] * len(head)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
