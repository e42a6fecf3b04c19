"""How a job file says how its plan is chosen: `[planning]`, `[planning.sites]` and `[planning.memory]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from watersmeet.errors import WatersmeetError
from watersmeet.jobs.settings import Table
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.progressive.planning import MemoryPlanning
from watersmeet.optimize.sites.planning import SitePlanning
from watersmeet.stats import Statistics
from watersmeet.stats.given import statistics

Made = TypeVar("Made")


def planning_of(table: Table, known: Mapping[str, Any]) -> Planning:
    """How the plan of a job is chosen.

    Args:
        table: What the file says about it.
        known: What it says about the data, by stream.
    """
    segment = table.text("segment")
    flags = ("adaptive", "spread_hot_keys")
    said = {name: None if table.raw(name) is None else table.flag(name) for name in flags}
    return _made(
        table,
        Planning,
        statistics=_statistics(table, known),
        optimizer=table.text("optimizer"),
        cost_model=table.text("cost_model"),
        search_steps=table.number("search_steps"),
        routing=table.text("routing"),
        segment=None if segment is None else table.duration("segment", segment),
        spread=table.number("spread"),
        **said,
        sites=_sites(table.table("sites")),
        memory=_memory(table.table("memory")),
    )


def _statistics(table: Table, known: Mapping[str, Any]) -> Statistics | None:
    batch, conditions = table.text("batch"), table.raw("conditions")
    try:
        return statistics(known, conditions=conditions, batch=batch)
    except (WatersmeetError, ValueError, AttributeError) as error:
        table.wrong(str(error).replace("\n", " "))
        return None


def _sites(table: Table) -> SitePlanning:
    return _made(
        table,
        SitePlanning,
        method=table.text("method"),
        optimizer=table.text("optimizer"),
        partition=table.text("partition"),
        groups=table.number("groups"),
    )


def _memory(table: Table) -> MemoryPlanning:
    tick = table.text("tick")
    length = None if tick is None else table.duration("tick", tick, positive=True)
    return _made(
        table,
        MemoryPlanning,
        algorithm=table.text("algorithm"),
        tick_s=None if length is None else length.total_seconds(),
    )


def _made(table: Table, make: Callable[..., Made], **given: Any) -> Made:
    """With what the table gives; None stands for what it leaves out. What is wrong is noted."""
    table.refuse_others()
    try:
        return make(**{name: value for name, value in given.items() if value is not None})
    except WatersmeetError as error:
        table.wrong(str(error).replace("\n", " "))
        return make()
