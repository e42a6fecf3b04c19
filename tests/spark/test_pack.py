"""How much goes into one packed row.

Would catch: wide rows gathered into blobs that fill the memory, narrow ones left in many small blobs.
"""

import pyarrow as pa
import pytest

from watersmeet.spark.host import blobs as blobs_module
from watersmeet.spark.host import pack


@pytest.mark.parametrize(("sizes", "chunks"), [([10, 10, 10], [30]), ([60, 60, 5], [60, 65]), ([0, 7], [7])])
def test_batches_are_gathered_up_to_a_number_of_rows(
    sizes: list[int], chunks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "_CHUNK_ROWS", 100)
    batches = [pa.record_batch([pa.array(range(size), pa.int64())], ["x"]) for size in sizes]
    assert [chunk.num_rows for chunk in pack._chunks(iter(batches), 1 << 26)] == chunks


def test_wide_rows_are_cut_by_their_bytes() -> None:
    wide = pa.record_batch([pa.array(["x" * 1_000] * 100)], ["x"])
    chunks = list(pack._chunks(iter([wide, wide]), 10_000))
    assert sum(chunk.num_rows for chunk in chunks) == 200
    assert max(chunk.nbytes for chunk in chunks) <= 10_100
    assert len(chunks) < 30
    # A row larger than the limit goes alone.
    long = pa.record_batch([["y" * 20_000] * 3], ["x"])
    assert [chunk.num_rows for chunk in pack._chunks(iter([long]), 10_000)] == [1] * 3


def test_blobs_are_opened_in_groups_that_arrow_can_put_together() -> None:
    blobs = [b"x" * size for size in (4, 4, 4, 30, 10, 1)]
    groups = [[len(blob) for blob in group] for group in blobs_module.limited(blobs, 10)]
    assert groups == [[1, 4, 4], [4], [10], [30]]
    # The same groups in whatever order they come.
    assert [[len(blob) for blob in group] for group in blobs_module.limited(blobs[::-1], 10)] == groups
