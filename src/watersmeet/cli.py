"""The command line.

A command is a file with a function `register`, which adds a parser with a default `run`, and a line in
`COMMANDS`. `run` takes the parsed arguments and returns the exit code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from watersmeet import __version__
from watersmeet.demo import command as demo
from watersmeet.errors import WatersmeetError
from watersmeet.jobs import command as jobs
from watersmeet.jobs.simulate import command as simulate

AddParser = Callable[..., argparse.ArgumentParser]

# In the order the help lists them.
COMMANDS: tuple[Callable[[AddParser], None], ...] = (
    demo.register,
    jobs.register_run,
    jobs.register_explain,
    simulate.register,
)

WRONG_USE = 2
STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code of the process.

    0 means success, 1 failure, 2 wrong use, 130 a stop by Ctrl-C.
    """
    return run_command(_parser(), arguments)


def run_command(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Run the command that a parser finds in the arguments; our errors are printed without a traceback."""
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
    except WatersmeetError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return WRONG_USE if isinstance(error, ValueError) else 1
    except KeyboardInterrupt:
        return STOPPED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="watersmeet", description="Continuous multi-way windowed stream joins on Apache Spark."
    )
    parser.add_argument("--version", action="version", version=f"watersmeet {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for register in COMMANDS:
        register(commands.add_parser)
    return parser
