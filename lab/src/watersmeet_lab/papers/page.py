"""Experiments as a page in Markdown: what was claimed, what we found, the plots, the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill

from watersmeet.plot.chart import Chart, Table
from watersmeet_lab.papers.claim import Claim, Verdict

_WIDTH = 120
_VERDICTS = """\
`{command}` writes this page, its plots and its data. Every verdict is computed from the figures. Claims
about random workloads are judged over several independent draws: "yes" if a claim holds for all together
and in at least four of five draws, "no" if it does not and fails in at least four of five, "in part"
otherwise. Thin bars in plots are the range of the draws. An explanation belongs to the verdict that is
expected; where another comes out the page says "changed", and the command fails. Expected verdicts, and
the wording of claims that are ours, were settled by looking at runs with seed 1: with another seed, claims
about which draws disagree may come out differently."""


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
        _paragraphs(_VERDICTS.format(command=command)),
        _overview(experiments),
        *(part for experiment in experiments for part in _section(experiment)),
    ]
    return "\n\n".join(parts) + "\n"


def tally(claims: Iterable[Claim]) -> str:
    """How many of some claims hold.

    >>> tally([Claim("a", "", holds=True), Claim("b", "", holds=False)])
    '1 of 2 reproduced, 1 changed'
    """
    seen = list(claims)
    verdicts = [claim.verdict for claim in seen]
    text = f"{verdicts.count(Verdict.REPRODUCED)} of {len(verdicts)} reproduced"
    if in_part := verdicts.count(Verdict.IN_PART):
        text += f", {in_part} in part"
    if changed := sum(claim.changed for claim in seen):
        text += f", {changed} changed"
    return text


def tally_by_origin(claims: Iterable[Claim]) -> str:
    """The same for the claims of a paper, and apart from them for those that are ours.

    >>> tally_by_origin([Claim("a", "", holds=True), Claim("b", "", holds=True, origin="measured")])
    '1 of 1 reproduced, and 1 of 1 of ours'
    """
    seen = list(claims)
    ours = [claim for claim in seen if claim.origin != "paper"]
    held = sum(claim.verdict is Verdict.REPRODUCED for claim in ours)
    text = tally(claim for claim in seen if claim.origin == "paper")
    return f"{text}, and {held} of {len(ours)} of ours" if ours else text


def _overview(experiments: Sequence[Experiment]) -> str:
    rows = []
    for experiment in experiments:
        cells = [experiment.title]
        for origin in ("paper", "corrected", "measured"):
            claims = [claim for claim in experiment.claims if claim.origin == origin]
            cells.append(tally(claims) if claims else "")
        rows.append(cells)
    return _table(("experiment", "what the paper claims", "what it should claim", "in the simulator"), rows)


def _section(experiment: Experiment) -> list[str]:
    parts = [f"## {experiment.title}", _paragraphs(experiment.setting)]
    parts += [_table(table.head, table.rows) for table in experiment.tables]
    for chart in experiment.charts:
        parts.append(f"![{chart.caption}]({chart.name}.svg)")
    names = [table.name for table in experiment.tables] + [chart.name for chart in experiment.charts]
    files = [f"[{name}.csv]({name}.csv)" for name in names]
    if files:
        parts.append(f"Data: {', '.join(files)}")
    rows = [(_stated(claim), claim.found, claim.words()) for claim in experiment.claims]
    parts.append(_table(("claim", "ours", "reproduced"), rows))
    differences: dict[str, list[str]] = {}
    for claim in experiment.claims:
        if claim.known and not claim.changed:
            differences.setdefault(claim.known.why, []).append(claim.text)
    if differences:
        items = [
            fill(f"- *{' '.join(texts)}* {' '.join(why.split())}", _WIDTH, subsequent_indent="  ")
            for why, texts in differences.items()
        ]
        parts.append("What differs, and why:\n\n" + "\n".join(items))
    return parts


def _paragraphs(text: str) -> str:
    return "\n\n".join(fill(" ".join(part.split()), _WIDTH) for part in text.split("\n\n"))


def _stated(claim: Claim) -> str:
    return claim.text if claim.origin == "paper" else f"{claim.origin}: {claim.text}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), _row(["---"] * len(head)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
