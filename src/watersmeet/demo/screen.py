"""What a person sees: the story, the plan, the join at work, the first results, the verdict.

On a terminal the middle part moves; in a file or a pipe it is one plain line per batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from watersmeet.demo.asked import AskedProgress, asked_line, asked_text
from watersmeet.demo.scenario import Check, Scenario
from watersmeet.terminal.table import batch_line, plain_table, streams_table, watermark_text

_WIDEST = 100
FIRST_RESULTS = 8


class Screen:
    """Prints a demo as it goes."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        if not self._console.is_terminal or self._console.width > _WIDEST:
            self._console.width = _WIDEST

    def introduce(self, scenario: Scenario) -> None:
        """Say what is about to happen."""
        self._heading(f"Watersmeet: {scenario.title}")
        self._print(Text(fill(scenario.story, self._console.width)))

    def plan(self, explanation: str) -> None:
        """Show the plan."""
        self._heading("The plan")
        self._print(Text(explanation))

    @contextlib.contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Show that something takes its time."""
        if self._console.is_terminal:
            with self._console.status(f"{what} ..."):
                yield
        else:
            self._print(f"{what} ...")
            yield

    @contextlib.contextmanager
    def watching(self, progress: AskedProgress, scenario: Scenario) -> Iterator[None]:
        """Show the join at work; what ends as it should stays on the screen."""
        self._heading("The join at work")
        if not self._console.is_terminal:
            yield
            return
        spinner = Spinner("dots")

        def view() -> RenderableType:
            return _dashboard(progress, scenario, spinner)

        with Live(console=self._console, get_renderable=view, refresh_per_second=6):
            yield

    def batch_ended(self, progress: AskedProgress) -> None:
        """Tell of a batch where there is no moving picture."""
        if not self._console.is_terminal:
            line = batch_line(progress) if not progress.pairs else asked_line(progress)
            self._console.print(line, soft_wrap=True)

    def totals(self, progress: AskedProgress, scenario: Scenario) -> None:
        """Show where the join ended, if the moving picture has not."""
        if not self._console.is_terminal:
            self._print(streams_table(progress, no_time=scenario.no_time, time=scenario.time))

    def first_results(self, scenario: Scenario, results: Sequence[Mapping[str, Any]]) -> None:
        """Show the earliest results."""
        self._heading(f"The first results{scenario.note}")
        table = plain_table()
        for heading in scenario.headings:
            table.add_column(heading, no_wrap=True)
        for result in results:
            table.add_row(*scenario.cells(result))
        self._print(table)

    def verdict(self, progress: AskedProgress, checks: Sequence[Check]) -> None:
        """Say how it ended."""
        self._heading("The answer")
        self._print(
            f"{progress.results:,} results from {progress.rows:,} rows in {progress.seconds:.1f} s, "
            f"{progress.rows_per_second:,.0f} rows/s"
        )
        for check in checks:
            mark = Text("ok", "green") if check.holds else Text("WRONG", "bold red")
            line = Table.grid(padding=(0, 2))
            line.add_row(mark, Text(check.claim))
            self._print(line)

    def kept(self, path: Path) -> None:
        """Say what is left behind."""
        self._console.print(f"\nThe picture: {path}", soft_wrap=True)

    def _heading(self, text: str) -> None:
        self._print(Text(f"\n{text}", "bold cyan"))

    def _print(self, what: RenderableType) -> None:
        self._console.print(what)


def _dashboard(progress: AskedProgress, scenario: Scenario, spinner: Spinner) -> RenderableType:
    mark = spinner if progress.ended is None else Text("done", "green")
    bar = Table.grid(padding=(0, 2))
    bar.add_row(
        mark,
        ProgressBar(total=scenario.rows, completed=progress.rows, width=30),
        f"{progress.rows:,} of {scenario.rows:,} rows",
        f"{progress.rows_per_second:,.0f} rows/s",
        f"{progress.seconds:.0f} s",
    )
    if progress.batches:
        results = Text.assemble((f"{progress.results:,}", "bold"), f" results after batch {progress.batches}")
        if progress.pairs:
            results.append(f", {asked_text(progress)}")
        state = Text(watermark_text(progress))
    else:
        results, state = Text("waiting for the first batch, which starts the Python workers"), Text()
    return Group(
        bar,
        Text(),
        streams_table(progress, no_time=scenario.no_time, time=scenario.time),
        Text(),
        results,
        state,
    )
