"""The command `watersmeet-lab`: the papers' experiments, one subcommand for each paper."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from watersmeet.cli import run_command

if TYPE_CHECKING:
    from watersmeet_lab.papers.bench import Paper

_DESCRIPTION = """\
Compute the figures of a paper again and hold its claims against them. Exit code: 0 if every verdict is the
one that is expected, 1 if not, 130 after Ctrl-C.
"""
# By the name of the folder beside this file.
_PAPERS = {
    "golab": "Golab & Özsu 2003: joins of sliding windows by nested loops and hash buckets",
    "semijoin": "Tran & Lee 2010: joins of streams at different sites, with semijoins",
    "pmjoin": "Zhou et al. 2006: placement of joins in a network, one plan per group of values",
    "rpj": "Tao et al. 2005: joins in a memory too small for them that have many results early",
    "psp": "Wang & Rundensteiner 2009: a ring of nodes that shares windows out by age",
}
_READ_A_LOG = frozenset({"semijoin"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a paper's experiments and return the exit code of the process."""
    return run_command(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="watersmeet-lab", description=_DESCRIPTION)
    papers = parser.add_subparsers(title="papers", metavar="PAPER", required=True)
    for name, text in _PAPERS.items():
        paper = papers.add_parser(name, help=text, description=f"{text}. {_DESCRIPTION}")
        paper.set_defaults(run=_run, paper=name, log=None)
        paper.add_argument(
            "--out",
            type=Path,
            metavar="FOLDER",
            default=Path("docs", "experiments", name),
            help="where page, plots and data go (default: %(default)s)",
        )
        paper.add_argument(
            "--full", action="store_true", help="the paper's sizes: minutes instead of seconds"
        )
        paper.add_argument(
            "--seed", type=_seed, default=1, metavar="N", help="start of the random numbers (default: 1)"
        )
        if name in _READ_A_LOG:
            paper.add_argument(
                "--log",
                type=Path,
                metavar="FILE",
                help="a web server's log, tab-separated with a heading (default: the one in examples/weblog)",
            )
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no seed; valid are 0, 1, 2 and so on')
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    # Not before they are needed: arrays and plots take a second to load.
    from watersmeet_lab.papers.bench import PAGE, Options, bench, changed
    from watersmeet_lab.papers.page import tally_by_origin

    options = Options(arguments.full, arguments.seed, arguments.log)
    paper: Paper = importlib.import_module(f"watersmeet_lab.{arguments.paper}.paper").paper(options)
    claims = bench(paper, arguments.out)
    print(f"{tally_by_origin(claims)}: {arguments.out / PAGE}")
    for claim in changed(claims):
        print(
            f"changed: {claim.text} {claim.found} ({claim.verdict.value}, not {claim.expected.value})",
            file=sys.stderr,
        )
    return 1 if changed(claims) else 0
