"""Compare shapes: ``make bench-shapes``, or ``python -m watersmeet_lab.shapes --help``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean, median

from watersmeet_lab.shapes.data import write_files
from watersmeet_lab.shapes.run import Run, measured
from watersmeet_lab.shapes.shapes import FIRST_MEASURED, SHAPES, Shape
from watersmeet_lab.shapes.systems import SYSTEMS, Place
from watersmeet_lab.shapes.topics import NoBroker, broker_in, filled

# The shape whose first commit is compared.
_START = "4 streams"


@dataclass(frozen=True)
class Measured:
    """The runs of a shape, round by round, by system."""

    shape: Shape
    runs: dict[str, list[Run]]
    tiny: dict[str, Run]

    @property
    def exact(self) -> bool:
        """Whether all systems have as many results, and some."""
        counts = {run.results for runs in self.runs.values() for run in runs}
        return len(counts) == 1 and counts != {0}

    @property
    def ratio(self) -> float:
        """Rows per second of ours over the chain, the median of the rounds."""
        return self._median(lambda run: run.rate)

    @property
    def first_commit_ratio(self) -> float:
        """Time until the first commit, ours over the chain."""
        return self._median(lambda run: run.first_commit)

    def _median(self, figure: Callable[[Run], float]) -> float:
        pairs = zip(self.runs["ours"], self.runs["chain"], strict=True)
        return median(figure(mine) / figure(theirs) for mine, theirs in pairs)


def main(arguments: list[str] | None = None) -> int:
    """Run every shape on both systems; the exit code is 1 when they do not return as many results."""
    options = _options(arguments)
    # Ended by a signal, it still removes its folders.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    found = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="watersmeet-bench-", dir=options.scratch))
        )
        for shape, place, tiny in _prepared(options.shapes, folder, stack):
            one = _measured(shape, place, tiny, options)
            found.append(one)
            print(
                f"  {shape.name}: {one.ratio:.2f} times the chain" + ("" if one.exact else ", COUNTS DIFFER")
            )
    _print_table(found)
    figures: dict[str, float] = {
        "mean_ratio": geometric_mean(one.ratio for one in found),
        "worst_ratio": min(one.ratio for one in found),
    }
    for one in found:
        if one.shape.name == _START:
            figures["first_batch_ratio"] = one.first_commit_ratio
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in found], indent=2))
    print("RESULT " + json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0 if all(one.exact for one in found) else 1


def _prepared(
    shapes: tuple[Shape, ...], folder: Path, stack: ExitStack
) -> Iterator[tuple[Shape, Place, Place]]:
    """Every shape with its rows, and with those of its tiny batches."""
    for number, shape in enumerate(shapes):
        sizes = (shape, shape.with_tiny_batches())
        if shape.topics:
            try:
                broker = stack.enter_context(broker_in(folder / "broker"))
            except NoBroker as error:
                raise SystemExit(f"there is no broker of Kafka for {shape.name}: {error}") from None
            places = [filled(broker, size, prefix) for size, prefix in zip(sizes, ("s", "tiny"), strict=True)]
        else:
            places = [Place(folder / f"{number}-{size.batch_rows}") for size in sizes]
            for size, place in zip(sizes, places, strict=True):
                write_files(size, place.root)
        yield shape, places[0], places[1]


def _measured(shape: Shape, place: Place, tiny: Place, options: argparse.Namespace) -> Measured:
    runs: dict[str, list[Run]] = {name: [] for name in SYSTEMS}
    for number in range(options.rounds):
        # Who begins changes with the round.
        for name in list(SYSTEMS)[:: 1 if number % 2 == 0 else -1]:
            run = measured(name, shape, place, options.cores)
            runs[name].append(run)
            batches = " ".join(f"{seconds:.2f}" for seconds in run.seconds)
            print(f"{shape.name}, {name}: {run.rate:,.0f} rows/s; {batches}", flush=True)
    small = {}
    if options.tiny:
        small = {name: measured(name, shape.with_tiny_batches(), tiny, options.cores) for name in SYSTEMS}
    return Measured(shape, runs, small)


def _print_table(found: list[Measured]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "shape", "ratio", "results", "ours, rows/s", "chain, rows/s", "ours, ms", "chain, ms", "ten rows, ms"
    )
    table.title = (
        "rows per second; processor ms of a batch, Java + Python; ms of a batch of ten rows, ours and chain"
    )
    for one in found:
        rates = [f"{median(run.rate for run in one.runs[name]):,.0f}" for name in SYSTEMS]
        processor = [_processor(one.runs[name]) for name in SYSTEMS]
        tiny = " ".join(f"{median(run.seconds[FIRST_MEASURED:]) * 1000:.0f}" for run in one.tiny.values())
        table.add_row(
            one.shape.name, f"{one.ratio:.2f}", f"{one.runs['ours'][0].results:,}", *rates, *processor, tiny
        )
    Console(width=140).print(table)


def _processor(runs: list[Run]) -> str:
    return " + ".join(
        f"{median(run.processor[name] for run in runs) * 1000:.0f}" for name in ("java", "python")
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m watersmeet_lab.shapes", description=__doc__)
    names = ", ".join(shape.name for shape in SHAPES)
    parser.add_argument(
        "--shapes", type=_shapes, default=SHAPES, help=f"some of these, with ; between: {names}"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs per shape and system (default 1)")
    parser.add_argument("--cores", type=int, default=2, help="cores and shuffle partitions (default 2)")
    parser.add_argument(
        "--tiny", action=argparse.BooleanOptionalAction, default=True, help="also run batches of ten rows"
    )
    parser.add_argument("--json", default="bench-shapes.json", help="where to write all figures")
    parser.add_argument("--scratch", default=None, help="folder for data and checkpoints")
    return parser.parse_args(arguments)


def _shapes(text: str) -> tuple[Shape, ...]:
    known = {shape.name: shape for shape in SHAPES}
    try:
        return tuple(known[name.strip()] for name in text.split(";"))
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"there is no shape {error}") from None


if __name__ == "__main__":
    sys.exit(main())
