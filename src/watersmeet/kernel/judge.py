"""Asking a Python function about pairs of rows: in blocks, checked, and timed.

    combinations  --columns, without nulls-->  function  --booleans, checked-->  mask

A function goes over its arrays several times, so it is asked about no more pairs at a time than fit the
cache. Putting arrays together has its price however few pairs they hold, so that is done for several such
blocks at once. What a function costs and how often it holds is measured on the way: of several functions the
one that rejects most per second is asked first.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import PredicateFailed
from watersmeet.kernel.arrays import as_arguments, described
from watersmeet.kernel.stored import stored_as
from watersmeet.query.expression import FunctionCall
from watersmeet.query.function import Function

# What the arrays of a block take together; half of what a core has to itself on most machines.
_BLOCK_BYTES = 1 << 19
_FEWEST, _MOST = 64, 1 << 16
# So many blocks are put together at once.
_TOGETHER = 4
# So many pairs of a batch are asked about twice.
_ASKED_TWICE = 8
# Before so many pairs, what was said about a function counts, and not what was measured.
_ENOUGH = 256
# What is assumed of a function nobody said anything about.
_USUAL_COST, _USUAL_SHARE = 1e-5, 0.5
# A function this many times slower than was said is worth a word.
_FAR_SLOWER = 5.0

# The columns of some pairs, by number.
Fetch = Callable[[slice], Sequence[pa.Array]]


class PredicateWarning(UserWarning):
    """A function does not keep what was said about it."""


@stored_as("asked")
@dataclass(slots=True)
class Answers:
    """What is known about a function from asking it.

    Attributes:
        pairs: How many pairs it was asked about.
        accepted: How many of them it accepted.
        seconds: How long that took.
        inconsistent: Of how many pairs it said something else when it was asked again.
    """

    pairs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    inconsistent: int = 0

    def plus(self, other: Answers) -> Answers:
        """Both together."""
        return Answers(
            self.pairs + other.pairs,
            self.accepted + other.accepted,
            self.seconds + other.seconds,
            self.inconsistent + other.inconsistent,
        )


class Judge:
    """Asks one function, and remembers what came of it.

    Attributes:
        function: The function.
        before: What was found before this batch.
        now: What was found in it.
    """

    def __init__(self, function: Function) -> None:
        """Nothing was asked."""
        self.function = function
        self.before = Answers()
        self.now = Answers()
        self._warned: set[str] = set()

    @property
    def cost(self) -> float:
        """Seconds that a pair takes, as far as it is known."""
        seen = self.before.plus(self.now)
        if seen.pairs >= _ENOUGH:
            return seen.seconds / seen.pairs
        return self.function.cost or _USUAL_COST

    @property
    def share(self) -> float:
        """For which part of the pairs it holds, as far as it is known."""
        seen = self.before.plus(self.now)
        if seen.pairs >= _ENOUGH:
            return seen.accepted / seen.pairs
        return _USUAL_SHARE if self.function.selectivity is None else self.function.selectivity

    @property
    def rank(self) -> float:
        """Seconds it takes to get rid of one pair: the function with the fewest is asked first."""
        return self.cost / (1 - self.share) if self.share < 1 else math.inf

    def mask(self, pairs: int, pair_bytes: int, fetch: Fetch) -> Any:
        """For which pairs the function holds.

        Args:
            pairs: How many there are.
            pair_bytes: About how many bytes the columns of one take.
            fetch: Gives the columns of some of them.
        """
        block = min(_MOST, max(_FEWEST, _BLOCK_BYTES // max(1, pair_bytes)))
        found = np.zeros(pairs, np.bool_)
        for first in range(0, pairs, _TOGETHER * block):
            some = slice(first, min(pairs, first + _TOGETHER * block))
            found[some] = self._known(list(fetch(some)), block)
        self._warn_if_slow()
        return found

    def take(self) -> Answers:
        """What was found in this batch, starting anew."""
        found, self.now = self.now, Answers()
        self.before = self.before.plus(found)
        return found

    def _known(self, columns: list[pa.Array], block: int) -> Any:
        """Nulls match nothing, and nobody is asked about them."""
        if not any(column.null_count for column in columns):
            return self._asked(columns, block)
        valid = columns[0].is_valid()
        for column in columns[1:]:
            valid = pc.and_(valid, column.is_valid())
        found = np.zeros(len(valid), np.bool_)
        kept = [column.filter(valid) for column in columns]
        if len(kept[0]):
            found[valid.to_numpy(zero_copy_only=False)] = self._asked(kept, block)
        return found

    def _asked(self, columns: list[pa.Array], block: int) -> Any:
        arguments = as_arguments(self.function, columns)
        found = np.empty(len(columns[0]), np.bool_)
        for first in range(0, len(found), block):
            some = slice(first, min(len(found), first + block))
            start = time.perf_counter()
            try:
                found[some] = self._answer([values[some] for values in arguments], some.stop - first)
            except PredicateFailed:
                raise
            except (Exception, SystemExit) as error:
                raise self._failed([column[some] for column in columns], error) from error
            self.now.seconds += time.perf_counter() - start
        new = self.now.pairs == 0
        self.now.pairs += len(found)
        self.now.accepted += int(found.sum())
        if new:
            self._ask_again(columns, found)
        return found

    def _answer(self, arguments: Sequence[Any], pairs: int) -> Any:
        """What the function says, once it is known to be one boolean per pair."""
        call = self.function.call
        said = call(*arguments) if self.function.vectorized else [call(*one) for one in zip(*arguments)]  # noqa: B905
        if isinstance(said, pa.Array | pa.ChunkedArray) and pa.types.is_boolean(said.type):
            said = pc.fill_null(said, False).to_numpy(zero_copy_only=False)
        if isinstance(said, np.ma.MaskedArray):
            said = said.filled(fill_value=False)
        try:
            answer = np.asarray(said)
        except ValueError as error:
            raise self._useless(f"what it returned is no array: {error}") from None
        if answer.dtype == object and answer.ndim == 1 and all(type(one) is bool for one in answer):
            answer = answer.astype(np.bool_)
        if answer.dtype != np.bool_ or answer.ndim != 1:
            found = type(said).__name__ if answer.ndim == 0 else f"{answer.dtype} of {answer.ndim} dimensions"
            if not self.function.vectorized:
                found = ", ".join(sorted({type(one).__name__ for one in said}))
            raise self._useless(f"it returned {found}, not booleans")
        if len(answer) != pairs:
            raise self._useless(f"it returned {len(answer)} values for {pairs} pairs")
        return answer

    def _useless(self, detail: str) -> PredicateFailed:
        wanted = "one boolean per pair" if self.function.vectorized else "True or False"
        return PredicateFailed(
            f"predicate {self.function.text} says nothing", f"{detail}.", f"let it return {wanted}."
        )

    def _failed(self, columns: list[pa.Array], error: BaseException) -> PredicateFailed:
        """The error, with a pair that brings it about."""
        pair = self._culprit(columns)
        about = ", ".join(
            f"{name} = {described(column[pair])}"
            for name, column in zip(self.function.columns, columns, strict=True)
        )
        return PredicateFailed(
            f"predicate {self.function.text} raised {type(error).__name__}: {_said(error)}",
            f"for example for {about}.",
            "mend the function, or keep such rows out with a filter; the batch can be run again.",
        )

    def _culprit(self, columns: list[pa.Array]) -> int:
        """A pair the function fails for: the block is cut in half while one half still fails."""
        first, last = 0, len(columns[0])
        while last - first > 1:
            middle = (first + last) // 2
            if self._fails([column.slice(first, middle - first) for column in columns]):
                last = middle
            elif self._fails([column.slice(middle, last - middle) for column in columns]):
                first = middle
            else:
                break
        return first

    def _fails(self, columns: list[pa.Array]) -> bool:
        try:
            self._answer(as_arguments(self.function, columns), len(columns[0]))
        except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises
            return True
        return False

    def _ask_again(self, columns: list[pa.Array], answer: Any) -> None:
        """A function that says something else the second time would make results depend on chance."""
        some = [column.slice(0, _ASKED_TWICE) for column in columns]
        try:
            again = self._answer(as_arguments(self.function, some), len(some[0]))
        except Exception as error:
            raise self._failed(some, error) from error
        inconsistent = int((again != answer[: len(again)]).sum())
        self.now.inconsistent += inconsistent
        if inconsistent:
            self._warn(
                "inconsistent",
                f"predicate {self.function.text} did not say the same of the same "
                f"{inconsistent} of {len(again)} pairs when it was asked again. Results depend on chance "
                "then: let it look at nothing but its arguments, and at each pair on its own.",
            )

    def _warn_if_slow(self) -> None:
        said = self.function.cost
        if said is not None and self.cost > _FAR_SLOWER * said:
            self._warn(
                "slow",
                f"predicate {self.function.text} takes {self.cost * 1e6:,.3g} us for a pair, not "
                f"{said * 1e6:,.3g} us as was said. What was measured counts from now on.",
            )

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, PredicateWarning, stacklevel=2)


def quickest_first(calls: Iterable[FunctionCall]) -> list[FunctionCall]:
    """Calls in the order in which they are asked: those first that reject most per second."""
    return sorted(calls, key=lambda call: judge_of(call.function).rank)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error that cannot even be written
        return "(it cannot be written)"


_judges: WeakKeyDictionary[Function, Judge] = WeakKeyDictionary()


def judge_of(function: Function) -> Judge:
    """The one who asks a function in this process."""
    found = _judges.get(function)
    if found is None:
        found = _judges[function] = Judge(function)
    return found
