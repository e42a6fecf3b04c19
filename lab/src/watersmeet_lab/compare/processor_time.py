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
    parent: int
    ticks: int


def tree_seconds(root: int | None = None) -> float:
    """Processor seconds so far of a process, this one by default, and of all that it has started.

    Of processes that have ended, those count that their parent has waited for, as Java and Spark's Python
    daemon do.
    """
    processes = _processes()
    family = {os.getpid() if root is None else root}
    grown = True
    while grown:
        children = {number for number, one in processes.items() if one.parent in family}
        grown = not children <= family
        family |= children
    return sum(processes[number].ticks for number in family & processes.keys()) / os.sysconf("SC_CLK_TCK")


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
        fields = text[text.rindex(")") + 1 :].split()
        found[int(folder.name)] = _Process(int(fields[_PARENT]), sum(map(int, fields[_TIMES])))
    return found
