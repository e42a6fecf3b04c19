"""Two keys have the same encoding when they are equal and never otherwise.

Would catch: fields that run into each other, nulls inside values taken for values, slices of Arrow arrays
read from their beginning, NaN and -0.0 that miss their equals, lists told apart by what lies under a null.
"""

import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.kernel.keys import Keys, encode_keys

NAN = float("nan")
STRINGS = ["", "a", "b", "ab", "a\0", "\0", "longer than eight bytes", "longer than eight bytez"]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [True, False]),
    "int8": (pa.int8(), [-128, -1, 0, 1, 127]),
    "int32": (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "float32": (pa.float32(), [0.0, -0.0, 1.5, -1.5, NAN, -NAN, math.inf]),
    "float64": (pa.float64(), [0.0, -0.0, 1.5, -1.5, NAN, -NAN, math.inf, 5e-324]),
    "decimal": (pa.decimal128(18, 2), [Decimal("-1.00"), Decimal("0.00"), Decimal("9999999999999999.99")]),
    "wide decimal": (pa.decimal128(38, 0), [Decimal(-1), Decimal(2**64 - 1), Decimal(0), Decimal(2**64)]),
    "date": (pa.date32(), [-1, 0, 20000]),
    "timestamp": (pa.timestamp("us"), [-1, 0, 10**15]),
    "string": (pa.string(), STRINGS),
    "binary": (pa.binary(), [text.encode() for text in STRINGS] + [b"\xff"]),
    "list": (pa.list_(pa.int32()), [[], [0], [0, 0], [None], [0, None], [None, 0], [1, 2]]),
    "list of strings": (pa.list_(pa.string()), [[], [""], ["", ""], ["a", "b"], ["ab", ""], [None]]),
    "list of doubles": (pa.list_(pa.float64()), [[0.0], [-0.0], [NAN], [-NAN], [1.0, NAN]]),
    "list of lists": (pa.list_(pa.list_(pa.int8())), [[], [[]], [[], []], [[1], [2]], [[1, 2], []], [None]]),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.string())]),
        [{"a": a, "b": b} for a in ("", "x", "xy", None) for b in ("", "y", "xy", None)],
    ),
    "struct of list": (
        pa.struct([("l", pa.list_(pa.int8())), ("n", pa.int8())]),
        [{"l": items, "n": n} for items in ([], [1], [1, 2], None) for n in (1, 2, None)],
    ),
    "list of structs": (
        pa.list_(pa.struct([("a", pa.int8())])),
        [[], [{"a": 1}], [{"a": None}], [None], [{"a": 1}, {"a": 1}]],
    ),
}


def canonical(value: Any) -> Any:
    """Equal for keys that Spark calls equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value


def identities(keys: Keys) -> list[tuple[int, bytes]]:
    if keys.encoded is None:
        return [(key_hash, b"") for key_hash in keys.hashes.tolist()]
    data, offsets = keys.encoded.data.tobytes(), keys.encoded.offsets
    return [(h, data[offsets[i] : offsets[i + 1]]) for i, h in enumerate(keys.hashes.tolist())]


def assert_equal_exactly_when_equal(columns: list[pa.Array], values: list[tuple[Any, ...]]) -> None:
    found = identities(encode_keys(columns))
    plain = [[canonical(part) for part in value] for value in values]
    for i in range(len(plain)):
        for j in range(i):
            assert (found[i] == found[j]) == (plain[i] == plain[j]), (values[i], values[j])


@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_one_column(kind: str) -> None:
    arrow_type, values = VALUES[kind]
    twice = pa.array([None, *values, *values, values[0]], arrow_type).slice(1, 2 * len(values))
    assert_equal_exactly_when_equal([twice], [(value,) for value in [*values, *values]])


def test_keys_of_several_columns_of_any_types() -> None:
    random = Random(5)  # noqa: S311
    for _ in range(150):
        kinds = random.choices(list(VALUES), k=random.randint(2, 3))
        rows = [tuple(random.choice(VALUES[kind][1][:4]) for kind in kinds) for _ in range(12)]
        skipped = random.randint(0, 3)
        columns = [
            pa.array([row[i] for row in rows], VALUES[kind][0]).slice(skipped) for i, kind in enumerate(kinds)
        ]
        assert_equal_exactly_when_equal(columns, rows[skipped:])


def test_what_lies_under_a_null_does_not_matter() -> None:
    """Arrow leaves the space of a null value undefined; two writers may fill it differently."""
    inner = pa.array([1, 2, 3, 1, 2, 3], pa.int64())
    clean = pa.StructArray.from_arrays(
        [pa.array([1, 1]), pa.ListArray.from_arrays(pa.array([0, 0, 3]), inner)], ["n", "l"]
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 3, 6]), inner, mask=pa.array([True, False]))
    dirty = pa.StructArray.from_arrays([pa.array([1, 1]), lists], ["n", "l"])
    assert clean.to_pylist()[1] == dirty.to_pylist()[1]
    assert identities(encode_keys([clean]))[1] == identities(encode_keys([dirty]))[1]
    as_null = pa.array([{"n": 1, "l": None}], clean.type)
    assert identities(encode_keys([as_null]))[0] == identities(encode_keys([dirty]))[0]


def test_the_hash_spreads_keys_that_differ_little() -> None:
    """Buckets are the hash modulo a small number, directories its leading bits: both must be even."""
    count = 100_000
    for column in (pa.array(range(count)), pa.array([f"user-{i:06d}" for i in range(count)])):
        hashes = encode_keys([column]).hashes
        assert len(np.unique(hashes)) == count
        for parts in (
            np.bincount((hashes % np.uint64(8)).astype(int)),
            np.bincount((hashes >> np.uint64(61)).astype(int)),
        ):
            assert parts.min() > 0.95 * count / 8
            assert parts.max() < 1.05 * count / 8


def test_the_hash_is_the_one_that_checkpoints_were_written_with() -> None:
    """Stored runs and buckets depend on these numbers: a change needs a new format version."""
    numbers = encode_keys([pa.array([0, 1, -1], pa.int64())]).hashes.tolist()
    assert numbers == [16294208416658607535, 10451216379200822465, 16490336266968443936]
    texts = encode_keys([pa.array(["", "a", "longer than eight bytes"])]).hashes.tolist()
    assert texts == [5197578548964807871, 4490210150949542640, 10214474964284443354]
    assert encode_keys([pa.array([1]), pa.array(["x"])]).hashes.tolist() == [878975822594392211]
