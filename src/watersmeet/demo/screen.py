"""What a person sees: the story, the plan, the join at work, the first results, the verdict.

On a terminal the middle part moves; in a file or a pipe it is one plain line per batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from watersmeet.demo.answer import Check
from watersmeet.demo.progress import Progress
from watersmeet.demo.scenario import Scenario

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
    def watching(self, progress: Progress, scenario: Scenario) -> Iterator[None]:
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

    def batch_ended(self, progress: Progress) -> None:
        """Tell of a batch where there is no moving picture."""
        if not self._console.is_terminal:
            self._console.print(_line(progress), soft_wrap=True)

    def totals(self, progress: Progress, scenario: Scenario) -> None:
        """Show where the join ended, if the moving picture has not."""
        if not self._console.is_terminal:
            self._print(_streams_table(progress, scenario))

    def first_results(self, scenario: Scenario, results: Sequence[Mapping[str, Any]]) -> None:
        """Show the earliest results."""
        self._heading(f"The first results{scenario.note}")
        table = _table()
        for heading in scenario.headings:
            table.add_column(heading, no_wrap=True)
        for result in results:
            table.add_row(*scenario.cells(result))
        self._print(table)

    def verdict(self, progress: Progress, checks: Sequence[Check]) -> None:
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

    def _heading(self, text: str) -> None:
        self._print(Text(f"\n{text}", "bold cyan"))

    def _print(self, what: RenderableType) -> None:
        self._console.print(what)


def _dashboard(progress: Progress, scenario: Scenario, spinner: Spinner) -> RenderableType:
    mark = spinner if progress.ended is None else Text("done", "green")
    bar = Table.grid(padding=(0, 2))
    bar.add_row(
        mark,
        ProgressBar(total=progress.expected_rows, completed=progress.rows, width=30),
        f"{progress.rows:,} of {progress.expected_rows:,} rows",
        f"{progress.rows_per_second:,.0f} rows/s",
        f"{progress.seconds:.0f} s",
    )
    if progress.batches:
        results = Text.assemble((f"{progress.results:,}", "bold"), f" results after batch {progress.batches}")
        state = Text(_watermark(progress))
    else:
        results, state = Text("waiting for the first batch, which starts the Python workers"), Text()
    return Group(bar, Text(), _streams_table(progress, scenario), Text(), results, state)


def _streams_table(progress: Progress, scenario: Scenario) -> Table:
    table = _table()
    table.add_column("stream")
    # Widths that fit what will come, so that nothing moves sideways.
    for heading, width in (
        ("rows in", 9),
        (scenario.no_time, 9),
        ("too late", 8),
        ("live rows", 9),
        ("state", 7),
    ):
        table.add_column(heading, justify="right", no_wrap=True, min_width=width)
    table.add_column(f"newest {scenario.time}", no_wrap=True, min_width=19)
    for name, stream in progress.streams.items():
        table.add_row(
            name,
            f"{stream.rows:,}",
            f"{stream.no_time:,}",
            f"{stream.late:,}",
            f"{stream.live:,}",
            _bytes(stream.state_bytes),
            stream.newest,
        )
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def _watermark(progress: Progress) -> str:
    if not progress.watermark:
        return "no watermark yet"
    held = f", held back by {progress.held_by}" if progress.held_by else ""
    return f"watermark {progress.watermark}{held}"


def _line(progress: Progress) -> str:
    streams = progress.streams.values()
    live = sum(stream.live for stream in streams)
    state = _bytes(sum(stream.state_bytes for stream in streams))
    late = sum(stream.late for stream in streams)
    return (
        f"{progress.rows / progress.expected_rows:>4.0%} {progress.rows:>10,} rows"
        f" {progress.results:>9,} results {live:>8,} live {state:>7} {late:>2,} too late"
        f"  {_watermark(progress)}"
    )


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
