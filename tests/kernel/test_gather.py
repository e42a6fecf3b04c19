"""Fetching the kept columns of results from many runs at once.

Would catch: a value fetched from the wrong row, run or buffer, a null that becomes a value, text that is
cut, a slice of an array read from its beginning, blocks so large that Arrow's offsets overflow.
"""

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet.kernel.gather as gather_module
from harness.kernel import join_for, plan_for
from watersmeet.kernel.blob import from_blob, to_blob
from watersmeet.kernel.gather import gather
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.run import Rows, build_run, replace_columns

UTC = dt.UTC
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [-128, 127, 0]),
    "int16": (pa.int16(), [-(2**15), 2**15 - 1, 7]),
    "int32": (pa.int32(), [-(2**31), 2**31 - 1, 7]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 7]),
    "float32": (pa.float32(), [0.5, -2.25, float("inf")]),
    "float64": (pa.float64(), [0.1, -1e300, float("-inf")]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["", "a", "ü", "long enough for more than one word"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff\x00\xff"]),
    "date32": (pa.date32(), [dt.date(1, 1, 1), dt.date(2026, 2, 28)]),
    "timestamp": (pa.timestamp("us", tz="UTC"), [dt.datetime(2026, 1, 1, 1, 2, 3, 4, UTC)]),
    "duration": (pa.duration("us"), [dt.timedelta(microseconds=-1), dt.timedelta(days=400)]),
    "decimal": (pa.decimal128(10, 2), [Decimal("-12345678.90"), Decimal("0.01")]),
    "wide decimal": (pa.decimal128(38, 10), [Decimal("-1234567890123456789012345678.0123456789")]),
    "list": (pa.list_(pa.int64()), [[], [1, None], [2, 3, 4]]),
    "struct": (
        pa.struct([("a", pa.int8()), ("b", pa.string())]),
        [{"a": 1, "b": "x"}, {"a": None, "b": None}],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[], [("k", 1), ("l", None)]]),
    "void": (pa.null(), [None]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_value_comes_from_its_row_and_run(kind: str) -> None:
    arrow_type, examples = COLUMNS[kind]
    random = Random(kind)  # noqa: S311
    for _ in range(20):
        contents = [
            [random.choice([None, *examples]) for _ in range(random.randint(1, 12))]
            for _ in range(random.randint(1, 4))
        ]
        owners = [random.randrange(len(contents)) for _ in range(random.randint(1, 40))]
        rows = [random.randrange(len(contents[owner])) for owner in owners]
        cut = random.randrange(10)
        runs = [sliced_run(values, arrow_type, cut) for values in contents]
        for stored in (runs, [from_blob(to_blob(run)) for run in runs]):
            (fetched,) = gather(stored, np.array(owners), np.array(rows), [0])
            assert fetched.type == stored[0].columns.schema.field(0).type
            fetched.validate(full=True)
            expected = [contents[owner][row] for owner, row in zip(owners, rows, strict=True)]
            assert fetched.to_pylist() == expected


def sliced_run(values: list[Any], arrow_type: pa.DataType, cut: int) -> Any:
    """A run whose column starts in the middle of its buffers; row i holds values[i]."""
    padded = pa.array([None] * cut + values + values[:1], arrow_type)
    batch = pa.record_batch([padded.slice(cut, len(values))], ["c"])
    run = build_run(Rows(encode_keys([pa.array([1] * len(values))]), np.arange(len(values)), batch))
    return replace_columns(run, batch)


def test_columns_that_are_not_kept_still_count_rows() -> None:
    """A query may keep nothing of a stream but its key and time."""
    nothing = pa.record_batch([pa.nulls(3)], ["_"]).select([])
    run = build_run(Rows(encode_keys([pa.array([1, 2, 3])]), np.arange(3), nothing))
    assert run.columns.num_rows == 3
    assert from_blob(to_blob(run)).columns.num_rows == 3


def test_one_large_row_among_small_ones_does_not_make_a_huge_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text column of a block holds at most 2 GB, and the row a hot key repeats may be the largest."""
    monkeypatch.setattr(gather_module, "_MOST_BYTES", 1 << 20)
    join = join_for(plan_for([10, 10]))
    large = 100_000
    text = pa.array(["x" * large] + ["small"] * 5000)
    left_keys = encode_keys([pa.array(np.arange(5001))])
    left = pa.record_batch([text], ["text"])
    assert list(join.on_rows(0, Rows(left_keys, np.zeros(5001, np.int64), left))) == []
    right_keys = encode_keys([pa.array(np.zeros(200, np.int64))])
    right = pa.record_batch([pa.array(range(200))], ["n"])
    blocks = list(join.on_rows(1, Rows(right_keys, np.zeros(200, np.int64), right)))
    assert sum(len(block) for block in blocks) == 200
    assert max(block.columns[0][0].nbytes for block in blocks) <= (1 << 20) + 2 * large
