"""What the benchmark prints and plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.rows import Row

NAMES = {
    "ours": "Watersmeet",
    "chain": "chained Spark joins",
    "chain-rocksdb": "chained, RocksDB",
    "flink": "Flink",
    "flink-rocksdb": "Flink, RocksDB",
    "duckdb": "DuckDB, all at once",
}


@dataclass
class Compared:
    """A row with what came of it on each system: an outcome, or why there is none."""

    row: Row
    rows: int
    outcomes: dict[str, Outcome | str] = field(default_factory=dict)

    @property
    def done(self) -> dict[str, Outcome]:
        """What came to an end."""
        return {name: one for name, one in self.outcomes.items() if isinstance(one, Outcome)}

    @property
    def exact(self) -> bool:
        """Whether all that came to an end have as many results."""
        return len({one.results for one in self.done.values()}) <= 1

    def steady_ratio(self, other: str) -> float | None:
        """Steady rows per second of ours over another system."""
        rates = [self.done[name].steady(self.rows) for name in ("ours", other) if name in self.done]
        return rates[0] / rates[1] if len(rates) == 2 and rates[0] and rates[1] else None


def print_table(found: list[Compared]) -> None:
    """A line for each row and system, and what is to be said about each row."""
    from rich.console import Console
    from rich.table import Table

    table = Table("row", "system", "results", "rows/s end to end", "rows/s steady", "ours is, steady")
    for one in found:
        for name, outcome in one.outcomes.items():
            first = one.row.name if name == next(iter(one.outcomes)) else ""
            if isinstance(outcome, str):
                table.add_row(first, NAMES[name], outcome)
                continue
            steady, ratio = outcome.steady(one.rows), one.steady_ratio(name)
            table.add_row(
                first,
                NAMES[name],
                f"{outcome.results:,}",
                f"{outcome.rate(one.rows):,.0f}",
                f"{steady:,.0f}" if steady else "",
                f"{ratio:.2f} times" if ratio and name != "ours" else "",
            )
        table.add_section()
    Console(width=140).print(table)
    for one in found:
        print(f"{one.row.name}: {one.row.about}; {one.rows:,} rows")
        if not one.exact:
            counts = {name: outcome.results for name, outcome in one.done.items()}
            print(f"{one.row.name}: RESULT COUNTS DIFFER: {counts}")


def ratios(found: list[Compared]) -> dict[str, float]:
    """Of the four-way join, ours over others, rows per second without start-up."""
    figures: dict[str, float] = {}
    for one in found:
        if one.row.name == "four-way":
            for figure, system in (("flink_ratio", "flink"), ("chain_ratio", "chain")):
                if ratio := one.steady_ratio(system):
                    figures[figure] = round(ratio, 3)
    return figures


def chart(found: list[Compared]) -> Chart:
    """How many rows each system has read, second by second."""
    panels = [
        Panel(
            one.row.name,
            "seconds",
            "rows read",
            tuple(_line(name, one, got) for name, got in one.done.items()),
        )
        for one in found
        if one.done
    ]
    return Chart("peers", "Rows read since the start of each query", tuple(panels))


def _line(name: str, one: Compared, outcome: Outcome) -> Line:
    reached = outcome.reached or [(0.0, 0), (outcome.seconds, one.rows)]
    return Line(NAMES[name], tuple(x for x, _ in reached), tuple(y for _, y in reached), source="run")


def as_json(found: list[Compared], context: Mapping[str, Any]) -> dict[str, Any]:
    """All figures, with what belongs to them."""
    rows = []
    for one in found:
        systems = {
            name: outcome
            if isinstance(outcome, str)
            else {
                "results": outcome.results,
                "seconds": outcome.seconds,
                "rate": outcome.rate(one.rows),
                "steady": outcome.steady(one.rows),
                "reached": outcome.reached,
            }
            for name, outcome in one.outcomes.items()
        }
        rows.append(
            {
                "name": one.row.name,
                "about": one.row.about,
                "rows": one.rows,
                "exact": one.exact,
                "systems": systems,
            }
        )
    return {"ratios": ratios(found), "names": NAMES, "rows": rows, **context}
