"""Run the experiments of a paper and write what came of them into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from watersmeet.errors import WatersmeetError
from watersmeet.extras import require_package
from watersmeet.plot.draw import save
from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import Experiment, page, tally
from watersmeet_lab.papers.record import write_record
from watersmeet_lab.papers.tracker import Screen, Tracker

PAGE = "README.md"


class UnusableFolder(WatersmeetError, ValueError):
    """Nothing can be written where the page should go."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose.

    Attributes:
        full: Whether to use the sizes of the paper where they take longer than a minute or two.
        seed: Start of all random numbers.
        log: A web server's log, for experiments on one; None for the one in the project.
    """

    full: bool = False
    seed: int = 1
    log: Path | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One experiment to be run.

    Attributes:
        title: What is said while it runs.
        run: Runs it.
    """

    title: str
    run: Callable[[Tracker], Experiment]


@dataclass(frozen=True, slots=True)
class Paper:
    """The experiments of a paper.

    Attributes:
        title: Heading of the page.
        introduction: What the reader should know before.
        command: What writes the page.
        steps: The experiments.
    """

    title: str
    introduction: str
    command: str
    steps: tuple[Step, ...] = field(default_factory=tuple)


def bench(paper: Paper, out: Path, *, screen: Screen | None = None) -> list[Claim]:
    """Run all experiments, write page, plots and data, and return the claims.

    Args:
        paper: What is run.
        out: The folder. Files that are there and have the same name are replaced.
        screen: Where progress is shown.
    """
    require_package("matplotlib")
    screen = screen or Screen()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnusableFolder(f'"{out}" cannot be a folder', f"{error.strerror}.", "name another.") from None
    experiments = []
    for step in paper.steps:
        with screen.running(step.title) as (tracker, say):
            experiment = step.run(tracker)
            _write_data(experiment, out)
            say(tally(experiment.claims))
        experiments.append(experiment)
    text = page(paper.title, paper.introduction, paper.command, experiments)
    (out / PAGE).write_text(text, encoding="utf-8")
    write_record(paper, experiments, out)
    return [claim for experiment in experiments for claim in experiment.claims]


def changed(claims: Sequence[Claim]) -> list[Claim]:
    """Claims with another verdict than expected."""
    return [claim for claim in claims if claim.changed]


def _write_data(experiment: Experiment, out: Path) -> None:
    for table in experiment.tables:
        (out / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    for chart in experiment.charts:
        save(chart, out)
