"""The command `watersmeet simulate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.cli import AddParser

_DESCRIPTION = """\
Join streams that arrive at different sites of a simulated network, and show what was sent, what was done and
how long results took. The same file gives the same result file, byte for byte. Exit code: 0 when it has come
to its end, 2 if the file is wrong, 130 after Ctrl-C.
"""


def register(add_parser: AddParser) -> None:
    """Add the command."""
    parser = add_parser("simulate", help="simulate a join between sites", description=_DESCRIPTION)
    parser.set_defaults(run=_run)
    parser.add_argument("file", type=Path, help="what to simulate, in TOML")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the result goes, as JSON")


def _run(arguments: argparse.Namespace) -> int:
    # Not before they are needed: arrays and Arrow take a second to load.
    import pyarrow as pa

    from watersmeet.errors import InvalidSimulation
    from watersmeet.extras import require_package

    require_package("simpy")

    from watersmeet.jobs.simulate.file import read_scenario
    from watersmeet.jobs.simulate.screen import Screen
    from watersmeet.sim.planned import planned
    from watersmeet.sim.run import simulate

    scenario = read_scenario(arguments.file)
    screen = Screen()
    try:
        plan = planned(scenario)
        screen.plan(scenario, plan)
        with screen.running(scenario) as progress:
            report = simulate(scenario, plan, progress)
    except (pa.ArrowException, MemoryError) as error:
        raise InvalidSimulation(
            "the streams cannot be simulated",
            f"{str(error) or 'there is not enough memory'}.",
            "check the files that are replayed, and the numbers of values and rows.",
        ) from None
    screen.report(report)
    if arguments.out is not None:
        try:
            arguments.out.write_text(report.to_json())
        except OSError as error:
            raise InvalidSimulation(
                f"cannot write {arguments.out}", f"{error.strerror or error}.", "give the path of a file."
            ) from None
        screen.written(str(arguments.out))
    return 0
