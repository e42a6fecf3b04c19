"""Conditions that only a Python function can judge: similar images, fuzzy texts, a model's score."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import cloudpickle

from watersmeet.errors import InvalidPredicate, WorkerSetup, choices
from watersmeet.query.duration import seconds

ARRAYS = ("numpy", "arrow")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Function:
    """A condition as a function of columns of two or more streams.

    Attributes:
        call: The function.
        columns: What it is given, each written ``stream.column``.
        name: How it is called in plans and messages.
        vectorized: Whether it is given arrays of many pairs, or the values of one pair.
        arrays: What kind of arrays: ``"numpy"`` or ``"arrow"``.
        stacked: Whether arrays and bytes come as rows of a two-dimensional NumPy array.
        cost: Seconds that one pair takes; None if nobody said.
        selectivity: How likely it holds; None if nobody said.
    """

    # Where it lies in memory differs from start to start, and a plan is known by how it is written.
    call: Callable[..., Any] = field(repr=False)
    columns: tuple[str, ...]
    name: str
    vectorized: bool = True
    arrays: str = "numpy"
    stacked: bool = False
    # What is known about it may change while a plan lasts.
    cost: float | None = field(default=None, repr=False)
    selectivity: float | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """As it is written in plans."""
        return f"{self.name}({', '.join(self.columns)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Functions of notebooks and scripts travel by value, those of installed packages by name."""
        settings = (self.columns, self.name, self.vectorized, self.arrays, self.stacked)
        return _unpickled, (cloudpickle.dumps(self.call), *settings, self.cost, self.selectivity)


def _unpickled(call: bytes, *settings: Any) -> Function:
    try:
        return Function(cloudpickle.loads(call), *settings)
    except ImportError as error:
        raise WorkerSetup(
            f"the function {settings[1]} cannot be loaded on a worker: {error}",
            "a function of an imported module travels by name, so the workers must find that module too",
            "install the module where the workers run, send it with spark.sparkContext.addPyFile, or call "
            "cloudpickle.register_pickle_by_value(the_module) before wm.predicate",
        ) from error


def predicate(
    function: Callable[..., Any],
    /,
    *columns: str,
    name: str | None = None,
    vectorized: bool = True,
    arrays: str = "numpy",
    stacked: bool = False,
    cost: str | float | timedelta | None = None,
    selectivity: float | None = None,
) -> Function:
    """A condition judged by a Python function, for `join`.

    The function is given the named columns of pairs of rows and says for which of them it holds. It must
    always say the same of the same values. A row with a null in one of the columns matches nothing, and the
    function is not asked.

    Args:
        function: Takes one argument per column. With `vectorized` these are arrays, one item per pair, and
            it returns as many booleans; otherwise they are values of one pair, and it returns one boolean.
        columns: What it is given, written ``"stream.column"``, of at least two streams.
        name: How plans and messages call it; its own name if it is left out.
        vectorized: Whether it takes arrays of pairs, which saves a call per pair.
        arrays: ``"numpy"``, or ``"arrow"`` to get Arrow arrays as they are.
        stacked: Columns of arrays or bytes come as a two-dimensional NumPy array with a row per pair; all
            values must be equally long.
        cost: What one pair takes, in seconds or as a duration such as ``"50 us"``; measured if left out.
        selectivity: The share of pairs it holds for, from 0 to 1.

    Example:
        >>> import numpy as np
        >>> def near(x, y):
        ...     return np.abs(x - y) < 3
        >>> predicate(near, "a.x", "b.x", cost="50 us", selectivity=0.01).text
        'near(a.x, b.x)'
    """
    if not callable(function):
        raise InvalidPredicate("a predicate needs a function", f"found {function!r}.")
    if isinstance(function, type):
        raise InvalidPredicate(
            "a predicate needs a function", f"found the class {function.__name__}.", "pass an object of it."
        )
    inner = function.func if isinstance(function, partial) else function
    called = str(name or getattr(inner, "__name__", type(inner).__name__))
    if not called.isprintable():
        raise InvalidPredicate("the name of a predicate cannot be printed", f"it is {called!r}.")
    for what, value in (("vectorized", vectorized), ("stacked", stacked)):
        if not isinstance(value, bool):
            raise InvalidPredicate(f"{what} is neither true nor false", f"it is {value!r}.")
    for column in columns:
        if not isinstance(column, str):
            raise InvalidPredicate(
                f'predicate "{called}" is given columns by name',
                f"found {column!r}.",
                'write "stream.column".',
            )
    if columns:
        _refuse_wrong_arguments(called, function, columns)
    if arrays not in ARRAYS:
        raise InvalidPredicate(
            f'predicate "{called}" asks for arrays of an unknown kind',
            f"it asks for {arrays!r}.",
            f"valid are {choices(ARRAYS)}.",
        )
    if stacked and (arrays != "numpy" or not vectorized):
        raise InvalidPredicate(
            f'predicate "{called}" cannot have its columns stacked',
            "only NumPy arrays of many pairs can be.",
            'leave out stacked=True, or use arrays="numpy" and vectorized=True.',
        )
    made = Function(
        call=function,
        columns=tuple(columns),
        name=called,
        vectorized=vectorized,
        arrays=arrays,
        stacked=stacked,
        cost=_cost(called, cost),
        selectivity=_share(called, selectivity),
    )
    _refuse_unpicklable(made)
    return made


def _refuse_wrong_arguments(name: str, function: Callable[..., Any], columns: tuple[str, ...]) -> None:
    """Refuse a function that does not take its columns; some in C do not say what they take."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*columns)
    except TypeError as error:
        raise InvalidPredicate(
            f'predicate "{name}" cannot be called with {len(columns)} columns',
            f"it is {name}{signature}, and {error}.",
            "name one column for every argument; fix others with functools.partial or a default.",
        ) from None


def _refuse_unpicklable(made: Function) -> None:
    try:
        cloudpickle.dumps(made.call)
    except Exception as error:
        raise InvalidPredicate(
            f'predicate "{made.name}" cannot be sent to the workers',
            f"{type(error).__name__}: {error}.",
            "open files, connections and locks inside the function, not around it.",
        ) from error


def _cost(name: str, cost: str | float | timedelta | None) -> float | None:
    return None if cost is None else seconds(cost, f'cost of predicate "{name}"', InvalidPredicate, "50 us")


def _share(name: str, selectivity: float | None) -> float | None:
    if selectivity is None:
        return None
    if (
        isinstance(selectivity, bool)
        or not isinstance(selectivity, numbers.Real)
        or not 0 <= float(selectivity) <= 1
    ):
        raise InvalidPredicate(
            f'selectivity of predicate "{name}" is not a share',
            f"it is {selectivity!r}.",
            "give the part of all pairs it holds for, from 0 to 1.",
        )
    return float(selectivity)
