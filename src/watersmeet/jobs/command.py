"""The commands `watersmeet run` and `watersmeet explain`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.cli import AddParser

_RUN = """\
Read the streams of a job file, join them and write the results, with progress on the terminal. Ctrl-C stops
it; started again, it goes on from its checkpoint. Exit code: 0 when all input was read (trigger "available
now") or all was found (trigger "to the end"), 1 if the query failed, 2 if the file is wrong, 130 after
Ctrl-C.
"""


def register_run(add_parser: AddParser) -> None:
    """Add the command that runs a job."""
    parser = add_parser("run", help="run a job file", description=_RUN)
    parser.set_defaults(run=_run)
    parser.add_argument("job", type=Path, help="the job file, in TOML")
    parser.add_argument("--site", help="run the parts of one site only; the others run elsewhere")
    parser.add_argument("--plot", type=Path, help="save a plot of results over time (svg, png, pdf)")


def register_explain(add_parser: AddParser) -> None:
    """Add the command that shows a job's plan."""
    text = "Show how a job would be run: windows, operators, where conditions are judged, what is stored."
    parser = add_parser("explain", help="show the plan of a job file", description=text)
    parser.set_defaults(run=_explain)
    parser.add_argument("job", type=Path, help="the job file, in TOML")
    parser.add_argument("--verbose", action="store_true", help="also what else was considered")
    parser.add_argument(
        "--form", choices=("text", "json", "mermaid"), default="text", help="how to show it (default text)"
    )


def _run(arguments: argparse.Namespace) -> int:
    # Not before they are needed: arrays and Arrow take a second to load.
    from rich.console import Console

    from watersmeet.jobs.job import read_job
    from watersmeet.jobs.runner import run_job
    from watersmeet.terminal.interrupts import Interrupted

    job = read_job(arguments.job)
    try:
        run_job(job, Console(highlight=False), arguments.site, arguments.plot)
    except Interrupted as stopped:
        print("Stopped.", file=sys.stderr)
        return stopped.exit_code
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    from watersmeet.jobs.job import read_job
    from watersmeet.jobs.runner import explain_job

    print(explain_job(read_job(arguments.job), verbose=arguments.verbose, form=arguments.form))
    return 0
