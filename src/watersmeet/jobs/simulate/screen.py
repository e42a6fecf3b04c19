"""What a person sees of a simulation: the plan, how far it is, and what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from watersmeet.sim.link import SECOND
from watersmeet.sim.planned import Planned
from watersmeet.sim.report import Report
from watersmeet.sim.scenario import Scenario
from watersmeet.terminal.table import bytes_text, plain_table

_WIDEST = 100


class Screen:
    """Prints a simulation as it goes."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        if not self._console.is_terminal or self._console.width > _WIDEST:
            self._console.width = _WIDEST

    def plan(self, scenario: Scenario, planned: Planned) -> None:
        """Say how streams will be joined."""
        method = scenario.method
        how = f"{method.kind}, {method.planner}"
        if method.partition is not None:
            how += f", values by {method.partition} into at most {method.groups} groups"
        self._heading(f"The plan ({how})")
        for line in planned.lines:
            self._print(Text(f"  {line}"))

    @contextlib.contextmanager
    def running(self, scenario: Scenario) -> Iterator[Callable[[int], None]]:
        """Show how far it is; the block is given whom to tell the simulated time."""
        if not self._console.is_terminal:
            yield lambda _: None
            return
        columns = (
            TextColumn("simulating"),
            BarColumn(),
            TextColumn("{task.completed:.1f} of {task.total:.1f} s"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task("", total=scenario.end / SECOND)
            yield lambda at: bar.update(task, completed=min(at, scenario.end) / SECOND)

    def report(self, report: Report) -> None:
        """Show what came of it."""
        self._heading("Streams")
        self._table(
            ("stream", "site", "rows", "too late"),
            [(s.stream, s.site, f"{s.rows:,}", f"{s.late:,}") for s in report.streams],
        )
        if report.links:
            self._heading("Links")
            self._table(
                ("from", "to", "messages", "packets", "rows", "bytes", "busy"),
                [
                    (
                        link.sender,
                        link.receiver,
                        f"{link.messages:,}",
                        f"{link.packets:,}",
                        f"{link.rows:,}",
                        bytes_text(link.bytes),
                        f"{link.busy:.2f} s",
                    )
                    for link in report.links
                ],
            )
        self._heading("Sites")
        names = sorted({name for site in report.sites for name in site.operations})
        self._table(
            ("site", *names, "work"),
            [
                (
                    site.site,
                    *(f"{site.operations.get(name, 0):,}" for name in names),
                    f"{site.processing:.4f} s",
                )
                for site in report.sites
            ],
        )
        self._heading("Results")
        self._print(f"{report.results:,} results in {report.seconds:g} s")
        if report.latency:
            times = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in report.latency.items())
            self._print(f"after their last row: {times}")
        work = report.work
        self._print("per second of arrivals")
        self._print(
            f"  work: {work['total']:.3f} s, on links {work['transmission']:.3f} s, at sites "
            f"{work['processing']:.4f} s" + _expected(report, "work", "{:.3f} s")
        )
        self._print(f"  rows sent: {report.sent:,.1f}" + _expected(report, "sent", "{:,.1f}"))

    def written(self, path: str) -> None:
        """Say where the result file is."""
        self._print(f"written to {path}")

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, "bold"))

    def _print(self, what: Table | Text | str) -> None:
        self._console.print(what, soft_wrap=not isinstance(what, Table))

    def _table(self, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        table = plain_table()
        for number, heading in enumerate(headings):
            text = number == 0 or heading in ("to", "site")
            table.add_column(heading, no_wrap=True, justify="left" if text else "right")
        for row in rows:
            table.add_row(*row)
        self._print(table)


def _expected(report: Report, what: str, form: str) -> str:
    known = report.expected.get(what)
    return "" if known is None else f"; the planner expected {form.format(known)}"
