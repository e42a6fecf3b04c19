"""The processor time of a process with all its descendants, from Linux' ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

# Fields of /proc/<pid>/stat, counted from the one after the name: the parent, then the time in the program
# and in the system of the process itself, and of its children that have ended and were waited for.
_PARENT = 1
_TIMES = slice(11, 15)


class _Process(NamedTuple):
    program: str
    parent: int
    ticks: int


def tree_seconds(root: int | None = None) -> float:
    """Processor seconds so far of a process, this one by default, and of all that it has started.

    Of processes that have ended, those count that their parent has waited for, as Java and Spark's Python
    daemon do.
    """
    return sum(seconds_by_program(root).values())


def seconds_by_program(root: int | None = None) -> dict[str, float]:
    """The same, for "java" and "python" apart; other programs, which start these, count as Python."""
    processes = _processes()
    family = {os.getpid() if root is None else root}
    grown = True
    while grown:
        children = {number for number, one in processes.items() if one.parent in family}
        grown = not children <= family
        family |= children
    ticks = {"java": 0, "python": 0}
    for number in family & processes.keys():
        ticks["java" if processes[number].program == "java" else "python"] += processes[number].ticks
    return {program: count / os.sysconf("SC_CLK_TCK") for program, count in ticks.items()}


def _processes() -> dict[int, _Process]:
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has just ended.
        # The name stands in brackets and may hold anything.
        name, end = text.index("(") + 1, text.rindex(")")
        fields = text[end + 1 :].split()
        ticks = sum(map(int, fields[_TIMES]))
        found[int(folder.name)] = _Process(text[name:end], int(fields[_PARENT]), ticks)
    return found
