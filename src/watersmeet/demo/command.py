"""The command `watersmeet demo`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from watersmeet.query.duration import parse_duration

if TYPE_CHECKING:
    from watersmeet.cli import AddParser

_DESCRIPTION = """\
Replay a year of departures from New York's three airports as three streams and find flights that left for the
same destination within 30 minutes of each other at all three. With --generated, join made-up streams instead.
Nothing is left behind. Exit code: 0 if the answer was right, 1 if not, 130 after Ctrl-C.
"""


def register(add_parser: AddParser) -> None:
    """Add the command."""
    parser = add_parser("demo", help="join real streams and check the answer", description=_DESCRIPTION)
    parser.set_defaults(run=_run)
    parser.add_argument("--cores", type=_positive, metavar="N", help="cores Spark may use (default: all)")
    parser.add_argument("--generated", action="store_true", help="generate the streams")
    group = parser.add_argument_group("generated streams")
    for name, kind, metavar, text in (
        ("streams", int, "N", "how many there are (default: 4)"),
        ("rate", int, "ROWS", "rows per second of event time in each (default: 10000)"),
        ("seconds", int, "N", "how much event time they span (default: 30)"),
        ("window", _duration, "TIME", 'how long a row waits for partners (default: "10 seconds")'),
        ("keys", int, "N", "how many different keys there are (default: 200000)"),
        (
            "skew",
            float,
            "X",
            "exponent of Zipf's law over the keys; 0 makes them equally frequent (default: 0)",
        ),
        ("disorder", _duration, "TIME", 'how long a row may be on its way (default: "2 seconds")'),
        ("seed", int, "N", "start of the random numbers (default: 1)"),
        ("batches", int, "N", "in how many parts they are replayed (default: 15)"),
    ):
        group.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)


def _run(arguments: argparse.Namespace) -> int:
    # Not before they are needed: arrays and Arrow take a second to load.
    from watersmeet.demo.flights import flights
    from watersmeet.demo.generated import Options, generated
    from watersmeet.demo.run import run
    from watersmeet.demo.scenario import InvalidScenario
    from watersmeet.terminal.interrupts import Interrupted

    given: dict[str, Any] = {
        field.name: value
        for field in fields(Options)
        if (value := getattr(arguments, field.name)) is not None
    }
    if given and not arguments.generated:
        raise InvalidScenario(
            f"--{next(iter(given))} is an option of generated streams",
            "the airports' departures are what they are.",
            "add --generated.",
        )
    scenario = generated(Options(**given)) if arguments.generated else flights()
    try:
        return 0 if run(scenario, arguments.cores) else 1
    except Interrupted as stopped:
        print("Stopped.", file=sys.stderr)
        return stopped.exit_code


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a positive whole number')
    return number


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
