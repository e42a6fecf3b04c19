"""Numbers near each other are found by cells.

Would catch: a pair of near numbers in cells too far apart, at any size of numbers and of bounds; a bound read
from a condition with the wrong sign.
"""

import math
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.kernel.grid import around, cells
from watersmeet.query import Column, Stream
from watersmeet.query.expression import Field
from watersmeet.query.join import join_query
from watersmeet.query.number_band import NumberBand, number_band
from watersmeet.query.predicate import ColumnsOnly

X, Y = Field(0, "v", "double"), Field(1, "v", "double")
SIZES = st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 3.0, 1e9, 1e300])
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(1 << 63), (1 << 63) - 1), st.just(0.0)
)


@given(st.lists(NUMBERS, min_size=1, max_size=20), SIZES, SIZES, st.lists(st.floats(-1, 1), min_size=1))
def test_whatever_is_near_is_in_the_cells_around(
    numbers: list[float], half: float, middle: float, parts: list[float]
) -> None:
    near = NumberBand(X, Y, middle - half, middle + half)
    if not (math.isfinite(near.low) and math.isfinite(near.high)):
        return
    rights = np.array([float(number) for number in numbers])
    for part in parts:
        with np.errstate(all="ignore"):
            lefts = rights + middle + part * half
        close = np.isfinite(lefts) & (lefts - rights >= near.low) & (lefts - rights <= near.high)
        wanted, rows = around(cells(near, pa.array(lefts), left=True))
        assert rows.tolist() == [row for row in range(len(lefts)) for _ in range(3)]
        found = cells(near, pa.array(rights), left=False)
        reached = (wanted.reshape(-1, 3) == found[:, None]).any(axis=1)
        assert (reached | ~close).all()


def test_whole_numbers_beyond_doubles_share_a_cell() -> None:
    near = NumberBand(X, Y, -1, 1)
    edge = (1 << 62) + 1
    assert cells(near, pa.array([edge, edge + 1]), left=True).tolist() == [1 << 50, 1 << 50]


def streams() -> list[Stream]:
    kinds = {"ts": "timestamp", "i": "int", "k": "bigint", "d": "double", "s": "string"}
    columns = tuple(Column(name, kind) for name, kind in kinds.items())
    return [Stream(name, columns, "ts", timedelta(seconds=5)) for name in "ab"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["abs(a.d - b.d) < 3"], ("d", "d", -3, 3)),
        (["abs(b.d - a.d) <= 3"], ("d", "d", -3, 3)),
        (["3 > abs(a.i - b.k)"], ("i", "k", -3, 3)),
        (["abs(a.d - b.d + 1) < 3"], ("d", "d", -4, 2)),
        (["b.d BETWEEN a.d - 1 AND a.d + 5"], ("d", "d", -5, 1)),
        (["a.i - b.i < 4", "a.i - b.i > -2"], ("i", "i", -2, 4)),
        (["a.i <= b.i + 4", "-2 <= a.i - b.i"], ("i", "i", -2, 4)),
        (["abs(a.d - b.d) < 3", "abs(a.i - b.i) < 2"], ("i", "i", -2, 2)),
        (["abs(a.d - b.d) < 3 AND abs(a.d - b.d) < 9"], ("d", "d", -3, 3)),
        # NaN is larger than any number: where both limits hold for one, cells cannot find it.
        (["a.d - b.d >= -5D", "a.d <= b.d + 5D"], None),
        (["a.d - b.d >= -5D", "a.d <= b.d + 5D", "abs(a.d - b.d) < 9D"], ("d", "d", -5, 5)),
        (["a.d >= b.d - 5D", "a.d - b.d <= 5D"], ("d", "d", -5, 5)),
        # Of doubles that cancel, rounding is left.
        (["abs(a.d - b.d + 1e17D - 1e17D) < 1D"], ("d", "d", -1 - 2e17 / 2**48, 1 + 2e17 / 2**48)),
        (["a.d < b.d"], None),
        (["abs(a.d - b.d) > 3"], None),
        (["abs(a.d + b.d) < 3"], None),
        (["abs(a.d - 2 * b.d) < 3"], None),
        (["a.s < b.s", "abs(a.ts - b.ts) < INTERVAL 1 SECOND"], None),
    ],
)
def test_bounds_are_read_from_conditions(
    texts: list[str], expected: tuple[str, str, float, float] | None
) -> None:
    query = join_query(streams(), texts, ["a.i"], "inner", ColumnsOnly(), cross=True)
    found = number_band([condition.expression for condition in query.conditions], [0], [1])
    read = None if found is None else (found.left.column, found.right.column, found.low, found.high)
    assert read == expected
    turned = number_band([condition.expression for condition in query.conditions], [1], [0])
    assert (turned is None) == (expected is None)
    if turned is not None and expected is not None:
        assert (turned.low, turned.high) == (-expected[3], -expected[2])
