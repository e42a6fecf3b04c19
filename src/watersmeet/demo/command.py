"""The command `watersmeet demo`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.query.duration import parse_duration

if TYPE_CHECKING:
    from watersmeet.cli import AddParser
    from watersmeet.demo.scenario import Scenario

_DESCRIPTION = """\
Replay a year of departures from New York's three airports as three streams and find flights that left for the
same destination within 30 minutes of each other at all three. With --generated, join made-up streams instead.
Nothing is left behind. Exit code: 0 if the answer was right, 1 if not, 130 after Ctrl-C.
"""
_IMAGES = """\
Find images of three cameras that show the same scene, with a Python function that compares pixels, and draw
some of them side by side. Nothing but that picture is left behind. Exit codes are those of the other demo.
"""


def register(add_parser: AddParser) -> None:
    """Add the command."""
    parser = add_parser("demo", help="join real streams and check the answer", description=_DESCRIPTION)
    parser.set_defaults(run=_run)
    _add_cores(parser)
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
    others = parser.add_subparsers(title="other demos", metavar="NAME", required=False)
    _register_images(others.add_parser)


def _register_images(add_parser: AddParser) -> None:
    # What is left out stays as it was read before the name of the demo.
    parser = add_parser(
        "images",
        help="find images that look alike",
        description=_IMAGES,
        argument_default=argparse.SUPPRESS,
    )
    parser.set_defaults(run=_run_images)
    _add_cores(parser)
    for name, text in (
        ("rate", "images per second of each camera (default: 5)"),
        ("seconds", "how much event time they span (default: 300)"),
        ("seed", "start of the random numbers (default: 1)"),
        ("batches", "in how many parts they are replayed (default: 6)"),
    ):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("watersmeet-images.png"),
        metavar="FILE",
        help="where the picture goes (default: %(default)s)",
    )


def _add_cores(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cores", type=_positive, metavar="N", help="cores Spark may use (default: all)")


def _run(arguments: argparse.Namespace) -> int:
    # Not before they are needed: arrays and Arrow take a second to load.
    from watersmeet.demo.flights import flights
    from watersmeet.demo.generated import Options, generated
    from watersmeet.demo.scenario import InvalidScenario

    given = _given(arguments, Options)
    if given and not arguments.generated:
        raise InvalidScenario(
            f"--{next(iter(given))} is an option of generated streams",
            "the airports' departures are what they are.",
            "add --generated.",
        )
    return _show(generated(Options(**given)) if arguments.generated else flights(), arguments.cores)


def _run_images(arguments: argparse.Namespace) -> int:
    from watersmeet.demo import generated
    from watersmeet.demo.images.cameras import Options
    from watersmeet.demo.images.scenario import images
    from watersmeet.demo.scenario import InvalidScenario

    given = _given(arguments, Options)
    foreign = [name for name in _given(arguments, generated.Options) if name not in given]
    if foreign or arguments.generated:
        raise InvalidScenario(
            f"--{(*foreign, 'generated')[0]} is an option of another demo",
            "the demo of images has cameras instead of generated streams.",
            "leave it out, or leave out the name of the demo.",
        )
    return _show(images(Options(**given), arguments.out), arguments.cores)


def _given(arguments: argparse.Namespace, options: type[Any]) -> dict[str, Any]:
    """The options of a scenario that are not left out."""
    values = {field.name: getattr(arguments, field.name) for field in fields(options)}
    return {name: value for name, value in values.items() if value is not None}


def _show(scenario: Scenario, cores: int | None) -> int:
    from watersmeet.demo.run import run
    from watersmeet.terminal.interrupts import Interrupted

    try:
        return 0 if run(scenario, cores) else 1
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
