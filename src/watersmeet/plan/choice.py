"""What the planner chose and what else it looked at: plain data, so that a plan can be explained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that was considered, and what it would cost."""

    what: str
    cost: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision.

    Attributes:
        about: What was decided, for example ``paths of operator 1``.
        by: The optimizer that decided.
        why: Its reason, in words.
        model: The cost model it compared by; empty where nothing was compared.
        cost: What the chosen way costs, per second of event time; None where nothing was compared.
        alternatives: The others that were looked at, cheapest first.
        skipped: What was not looked at for lack of search steps; empty if everything was.
    """

    about: str
    by: str
    why: str
    model: str = ""
    cost: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    skipped: str = ""
