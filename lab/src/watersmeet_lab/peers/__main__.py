"""Run joins on several engines: ``make bench-peers``, or ``python -m watersmeet_lab.peers --help``."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from watersmeet.plot.draw import save
from watersmeet.spark.jars import JarsMissing
from watersmeet_lab.peers.data import Data, written
from watersmeet_lab.peers.flink import STATE, TUNING
from watersmeet_lab.peers.flink_java import JAVA, NoFlink, flink_jars, flink_version
from watersmeet_lab.peers.report import Compared, as_json, chart, print_table, ratios
from watersmeet_lab.peers.rows import ROWS, Row
from watersmeet_lab.peers.systems import SYSTEMS, measured
from watersmeet_lab.peers.topics import in_topics
from watersmeet_lab.shapes.topics import NoBroker, broker_in

# Flink with RocksDB is slower than with its state on the heap; `--only flink-rocksdb` has it run.
_USUAL = tuple(name for name in SYSTEMS if name != "flink-rocksdb")

_NOTES = (
    "End to end: from the start of a query, in a session that is there, to its end; of Flink from when it",
    "  was handed the job, without starting Java and planning. Steady: after the first quarter of the rows,",
    "  in Flink of the stream that is read most slowly, since others may run ahead of the joins.",
    "  DuckDB has all rows at once, and keeps no state.",
    "Files: Spark takes one file per stream and batch; Flink and DuckDB the same rows in one file per",
    "  stream, since Flink does not keep the order of files.",
    "Spark: the chain has the default store and format 2 of the state of joins, the other one RocksDB and",
    "  format 4. All Javas have at most 6 GB.",
)


def main(arguments: list[str] | None = None) -> int:
    """Run every row on every system; the exit code is 1 when result counts differ."""
    options = _options(arguments)
    # Ended by a signal, it still removes its folders and ends what it has started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rows, systems = options.only
    missing = _missing(systems)
    found: list[Compared] = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch))
        )
        stored = _Stored(folder, options.scale, stack)
        for row in rows:
            try:
                data = stored.data(row.data)
            except (NoBroker, JarsMissing) as error:
                print(
                    f"{row.name} is left out, there is no broker of Kafka: {_first_line(error)}", flush=True
                )
                continue
            found.append(_compared(row, data, [name for name in systems if name not in missing], options))
    print_table(found)
    context = _context(options, missing)
    for line in context["notes"]:
        print(line)
    if options.json:
        Path(options.json).write_text(json.dumps(as_json(found, context), indent=1))
    if options.chart is not None and found:
        save(chart(found), options.chart)
    print("RESULT " + json.dumps(ratios(found)))
    return 0 if all(one.exact for one in found) else 1


@dataclass
class _Stored:
    """The data of rows, written when a row first needs it."""

    folder: Path
    scale: float
    stack: ExitStack
    known: dict[str, Data] = field(default_factory=dict)

    def data(self, kind: str) -> Data:
        if kind not in self.known:
            # Before the rows, which take longer than a look at what is missing.
            broker = None
            if kind == "topics":
                broker = self.stack.enter_context(broker_in(self.folder / "broker"))
            data = written(kind, self.folder / kind, self.scale)
            self.known[kind] = data if broker is None else in_topics(data, broker)
        return self.known[kind]


def _compared(row: Row, data: Data, systems: list[str], options: argparse.Namespace) -> Compared:
    data = replace(data, counts={side.name: data.counts[side.name] for side in row.query.sides})
    one = Compared(row, data.rows)
    for name in systems:
        outcome = measured(name, row, data, options.cores, options.limit)
        one.outcomes[name] = outcome
        if isinstance(outcome, str):
            said = outcome
        else:
            said = f"{outcome.results:,} results in {outcome.seconds:.1f} s"
        print(f"{row.name}, {name}: {said}", flush=True)
    return one


def _missing(systems: tuple[str, ...]) -> set[str]:
    """The systems that are not here; says so."""
    of_flink = {name for name in systems if name in STATE}
    if not of_flink:
        return set()
    try:
        flink_jars()
    except NoFlink as error:
        print(f"Flink is left out: {error}", flush=True)
        return of_flink
    return set()


def _context(options: argparse.Namespace, missing: set[str]) -> dict[str, Any]:
    from importlib.metadata import version

    rows, systems = options.only
    versions = {name: version(name) for name in ("pyspark", "duckdb", "numpy", "pyarrow")}
    notes = [*_NOTES]
    if not missing and any(name in STATE for name in systems):
        versions["flink"] = flink_version()
        tuned = [("", TUNING), *((f"{name}: ", STATE[name]) for name in systems if name in STATE)]
        listed = [f"{of}{name} = {value}" for of, settings in tuned for name, value in settings.items()]
        notes.append(
            f"Flink {versions['flink']}: a local cluster with parallelism {options.cores}, Java with "
            f"{' '.join(JAVA)}; {', '.join(listed)}."
        )
    return {
        "notes": notes,
        "versions": versions,
        "cores": os.cpu_count(),
        "scale": options.scale,
        "run": {"rows": [row.name for row in rows], "systems": list(systems)},
    }


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.peers", description=__doc__)
    names = ", ".join([*(row.name for row in ROWS), *SYSTEMS])
    parser.add_argument(
        "--only",
        type=_only,
        default=(ROWS, _USUAL),
        help=f"some rows and some systems, with commas between; of what is not named all: {names}",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="times as many rows (default 1)")
    parser.add_argument("--limit", type=float, default=180, help="seconds a run may take (default 180)")
    parser.add_argument("--cores", type=int, default=2, help="cores and parallelism (default 2)")
    parser.add_argument("--json", default="bench-peers.json", help="where to write all figures")
    parser.add_argument("--chart", type=Path, help="folder for a plot of the runs, and its data")
    parser.add_argument("--scratch", default=None, help="folder for data and checkpoints")
    return parser.parse_args(arguments)


def _only(text: str) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    asked = {name.strip() for name in text.split(",")}
    rows = tuple(row for row in ROWS if row.name in asked)
    systems = tuple(name for name in SYSTEMS if name in asked)
    if unknown := asked - {row.name for row in rows} - set(systems):
        raise argparse.ArgumentTypeError(f"there is no row or system {', '.join(sorted(unknown))}")
    return rows or ROWS, systems or _USUAL


if __name__ == "__main__":
    sys.exit(main())
