"""Conditions of a join: as they were written, and by who evaluates them."""

from __future__ import annotations

from dataclasses import dataclass, field

from watersmeet.query.bands import Bound
from watersmeet.query.expression import Expression, FunctionCall
from watersmeet.query.function import Function


@dataclass(frozen=True, slots=True)
class OnCondition:
    """A condition as it was written.

    Attributes:
        condition: The condition.
        owner: The optional stream behind whose ON it stands; None where it says so itself.
        of_results: Whether results have to fulfil it: it does not decide about partners.
        inner: Whether it stands behind the ON of a stream that is not optional.
    """

    condition: str | Function
    owner: int | None = None
    of_results: bool = False
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one stream. Spark judges it, or whoever reads the stream in its place.

    `expression` is what the kernel would judge; None if only Spark can.
    """

    stream: int
    text: str
    # Not a part of what a checkpoint between sites remembers, which is the text of a query.
    expression: Expression | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition the kernel evaluates.

    `owner` is the optional stream whose partners it decides about; None for one that results must fulfil.
    """

    text: str
    expression: Expression
    streams: frozenset[int]
    bounds: tuple[Bound, ...] = ()
    owner: int | None = None

    @property
    def function(self) -> Function | None:
        """The Python function that judges it; None if the kernel does it itself."""
        return self.expression.function if isinstance(self.expression, FunctionCall) else None


@dataclass(frozen=True, slots=True)
class Afterwards:
    """A condition Spark evaluates on the results, and why the kernel does not; empty where it must not."""

    text: str
    columns: tuple[tuple[int, str], ...]
    reason: str
