"""Runs as blobs, merged, sorted.

Would catch: rows or keys that change on their way through a blob, a damaged blob that is believed, a
merge that loses rows or puts them out of order, a sort that disagrees with NumPy's.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.kernel import columns_of
from oracles.reference import Row
from watersmeet.errors import DamagedRun
from watersmeet.kernel.blob import blob_checksum, from_blob, to_blob
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.run import Rows, Run, build_run, merge_runs
from watersmeet.kernel.sorting import order_by_hash_and_time

any_rows = st.lists(
    st.builds(
        Row,
        st.tuples(st.sampled_from(["", "a", "b", "ab", "a longer key than eight bytes"])),
        st.integers(-50, 50),
        st.integers(0, 1000),
    ),
    min_size=1,
    max_size=60,
)


def build(rows: list[Row], *, weak: bool = False) -> Run:
    new = columns_of(rows)
    if weak:
        new = replace(new, keys=Keys(new.keys.hashes % np.uint64(2), new.keys.encoded))
    return build_run(new)


def entries(run: Run) -> list[tuple[int, bytes, list[int], list[int]]]:
    """Per key of a run: hash, bytes, times, values; in the order they are stored."""
    found = []
    for i, key_hash in enumerate(run.key_hashes.tolist()):
        first, last = run.key_rows[i], run.key_rows[i + 1]
        text = b""
        if run.key_bytes is not None:
            text = run.key_bytes.data[run.key_bytes.offsets[i] : run.key_bytes.offsets[i + 1]].tobytes()
        values = run.columns.column("value").to_pylist()[first:last]
        found.append((key_hash, text, run.times[first:last].tolist(), values))
    return found


def assert_holds(run: Run, rows: list[Row]) -> None:
    """The run is sorted, has every key once, and holds exactly these rows."""
    stored = entries(run)
    assert [entry[0] for entry in stored] == sorted(entry[0] for entry in stored)
    assert len({entry[:2] for entry in stored}) == len(stored), "a key has two entries"
    for _, _, times, _ in stored:
        assert times == sorted(times), "rows of a key are out of order"
    held = Counter(
        (text, t, v) for _, text, times, values in stored for t, v in zip(times, values, strict=True)
    )
    assert held == Counter((row.key[0].encode(), row.ts, row.value) for row in rows)


@pytest.mark.parametrize("weak", [False, True])
@given(rows=any_rows)
def test_a_run_is_sorted_and_complete(rows: list[Row], *, weak: bool) -> None:
    assert_holds(build(rows, weak=weak), rows)


@pytest.mark.parametrize("weak", [False, True])
@given(parts=st.lists(any_rows, min_size=1, max_size=5))
def test_merging_equals_building_from_all_rows(parts: list[list[Row]], *, weak: bool) -> None:
    merged = merge_runs([build(rows, weak=weak) for rows in parts])
    assert_holds(merged, [row for rows in parts for row in rows])


@pytest.mark.parametrize("weak", [False, True])
@given(rows=any_rows)
def test_a_blob_gives_the_run_back(rows: list[Row], *, weak: bool) -> None:
    run = build(rows, weak=weak)
    blob = to_blob(run)
    for stored in (blob, memoryview(blob), bytearray(blob)):
        assert entries(from_blob(stored)) == entries(run)
    # Merging runs that were stored is what compaction does after a restart.
    assert_holds(merge_runs([from_blob(blob), run]), rows + rows)


def test_integer_keys_take_no_bytes_and_come_back() -> None:
    run = build_run(columns_of([Row((k,), t, v) for k, t, v in [(5, 3, 1), (-7, 2, 2), (5, 1, 3)]]))
    back = from_blob(to_blob(run))
    assert run.key_bytes is None
    assert back.key_bytes is None
    assert entries(back) == entries(run)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None, "text", "", "longer than eight bytes"]),
        pa.array([[1, None], None, [], [3]]),
        pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 2, "b": "y"}]),
        pa.array([[("k", 1)], [], None, [("l", None)]], pa.map_(pa.string(), pa.int64())),
        pa.array([None, None, None, None]),
        pa.array([True, None, False, True]),
    ],
    ids=lambda column: str(column.type),
)
def test_kept_columns_of_any_type_follow_their_rows(column: pa.Array) -> None:
    """Also when the column is a slice of a larger one, as Arrow batches often are."""
    longer = pa.concat_arrays([column, column])
    for sliced in (column, longer.slice(4, 4)):
        number = pa.array(range(4))
        batch = pa.record_batch([number, sliced], ["n", "c"])
        run = from_blob(
            to_blob(build_run(Rows(encode_keys([pa.array([3, 1, 2, 1])]), np.array([4, 3, 2, 1]), batch)))
        )
        expected = dict(enumerate(column.to_pylist()))
        assert dict(zip(*(part.to_pylist() for part in run.columns.columns), strict=True)) == expected


def damaged_header(blob: bytearray) -> bytearray:
    blob[0] ^= 0xFF
    return blob


@pytest.mark.parametrize(
    ("damage", "fact"),
    [
        (damaged_header, "a stored run has an unknown header"),
        (lambda blob: blob[:10], "a stored run is cut short"),
        (lambda blob: blob[:0], "a stored run is cut short"),
    ],
    ids=["other header", "cut inside the header", "empty"],
)
def test_a_blob_that_cannot_be_a_run_is_refused(damage: Any, fact: str) -> None:
    with pytest.raises(DamagedRun) as caught:
        from_blob(bytes(damage(bytearray(to_blob(build([Row(("a",), 1, 1)]))))))
    assert caught.value.fact == fact


@given(any_rows, st.data())
def test_the_checksum_notices_any_changed_byte_and_any_cut(rows: list[Row], data: st.DataObject) -> None:
    blob = bytearray(to_blob(build(rows)))
    before = blob_checksum(bytes(blob))
    position = data.draw(st.integers(0, len(blob) - 1))
    assert blob_checksum(bytes(blob[:position])) != before
    blob[position] ^= data.draw(st.integers(1, 255))
    assert blob_checksum(bytes(blob)) != before


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3) | st.integers(0, 2**64 - 1), st.integers(-5, 5) | st.integers(-(2**62), 2**62)
        ),
        max_size=200,
    )
)
def test_sorting_agrees_with_numpy(rows: list[tuple[int, int]]) -> None:
    hashes = np.array([key_hash for key_hash, _ in rows], np.uint64)
    times = np.array([time for _, time in rows], np.int64)
    ours, numpys = order_by_hash_and_time(hashes, times), np.lexsort((times, hashes))
    assert sorted(ours.tolist()) == list(range(len(rows)))
    np.testing.assert_array_equal(hashes[ours], hashes[numpys])
    np.testing.assert_array_equal(times[ours], times[numpys])


@pytest.mark.parametrize("distinct", [1, 2, 100, 10**6])
def test_sorting_agrees_with_numpy_on_many_rows(distinct: int) -> None:
    random = np.random.default_rng(distinct)
    hashes = random.integers(0, 2**64, distinct, np.uint64)[random.integers(0, distinct, 200_000)]
    times = random.integers(-1000, 1000, len(hashes))
    ours, numpys = order_by_hash_and_time(hashes, times), np.lexsort((times, hashes))
    np.testing.assert_array_equal(hashes[ours], hashes[numpys])
    np.testing.assert_array_equal(times[ours], times[numpys])
    np.testing.assert_array_equal(np.sort(ours), np.arange(len(hashes)))
