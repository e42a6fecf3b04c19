"""What one one-way join looks at and gives, whichever algorithm computes it."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.query.expression import Expression
from watersmeet.query.number_band import NumberBand


def column_name(stream: int, column: str) -> str:
    """How a column of a stream is called on its way.

    >>> column_name(2, "amount")
    '2.amount'
    """
    return f"{stream}.{column}"


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Heads look back into a window.

    Attributes:
        head_key: The columns of heads that must equal those of the window.
        window_key: The columns of the window, in the same order.
        ties: Whether a row of the window may have the same time as the head. Of rows of equal time that of
            the later stream counts as the last, so that every combination is found by one head only.
        conditions: What must hold of head and row together.
        columns: What is kept of both.
        ends: Whether results say until when they live, as those must that are kept themselves.
        head_reach: How long a head lives that does not say it itself, microseconds.
        band: By which numbers rows are found that no key finds; the heads' is the left one.
    """

    head_key: tuple[str, ...]
    window_key: tuple[str, ...]
    ties: bool
    conditions: tuple[Expression, ...]
    columns: tuple[str, ...]
    ends: bool = False
    head_reach: int = 0
    band: NumberBand | None = None
