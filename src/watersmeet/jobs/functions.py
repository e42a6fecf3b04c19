"""Python functions that a job file names as conditions.

[[query.predicates]]
function = "matching.py:similar"      a file beside the job file, or an installed module, and a function in it
columns = ["north.image", "east.image"]
stacked = true                        further settings are those of wm.predicate
"""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from watersmeet.errors import WatersmeetError
from watersmeet.jobs.settings import Table
from watersmeet.query.function import Function, predicate

_SETTINGS = ("name", "vectorized", "arrays", "stacked", "cost", "selectivity")


def predicates_of(query: Table, folder: Path) -> list[Function]:
    """The conditions; what is wrong with them is noted."""
    listed = query.raw("predicates")
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        query.wrong("predicates must be tables: [[query.predicates]]")
        return []
    found = (_predicate(query.item("predicates", number), folder) for number in range(len(listed)))
    return [function for function in found if function is not None]


def _predicate(table: Table, folder: Path) -> Function | None:
    place, columns = table.text("function", needed=True), table.texts("columns")
    given = {name: value for name in _SETTINGS if (value := table.raw(name)) is not None}
    table.refuse_others()
    if place is None or not columns:
        if place is not None:
            table.wrong('"columns" is missing: what the function is given, such as ["a.x", "b.x"]')
        return None
    try:
        return predicate(_imported(place, folder), *columns, **given)
    except WatersmeetError as error:
        table.wrong(str(error).replace("\n", " "))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's module does when it is read
        table.wrong(f'cannot take the function "{place}": {type(error).__name__}: {error}')
    return None


def _imported(place: str, folder: Path) -> Callable[..., Any]:
    where, _, name = place.rpartition(":")
    if not where:
        raise ValueError('write where it is and what it is called, such as "matching.py:similar"')
    if where.endswith(".py"):
        # Read as a script, so that its functions travel by value and workers need not have the file.
        found = runpy.run_path(str(folder / where))
        if name not in found:
            raise ValueError(f"{where} has no {name}")
        function: Callable[..., Any] = found[name]
        if isinstance(function, FunctionType) and function.__module__ == "<run_path>":
            function.__module__ = "__main__"
        return function
    return getattr(importlib.import_module(where), name)  # type: ignore[no-any-return]
