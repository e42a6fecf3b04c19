"""State is written and read back as it was, and reading never does anything else.

Would catch: a value that comes back as another or of another type, bytes that run code when they are read,
damage that goes unnoticed, state of an older version that is misread, a checkpoint of a newer one that is
read in part.
"""

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watersmeet.errors import CheckpointMismatch, DamagedRun
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.stored import stored_as


@stored_as("test place")
class Place(NamedTuple):
    """As `Slice` is."""

    width: int
    number: int = 7


@stored_as("test note")
@dataclass(slots=True)
class Note:
    """As the lines of a manifest are, with a field that its constructor makes."""

    name: str
    value: Any
    added: list[int] = field(default_factory=list)
    made: Any = field(init=False)

    def __post_init__(self) -> None:
        self.made = np.zeros(2)


ROWS = pa.record_batch({"id": pa.array([1, None, 3]), "name": pa.array(["a", "é", None])})
ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(10, dtype=np.uint8)[::3],
    np.empty((0, 4), np.int64),
    np.array(5),
    np.array(["2020-01-01", "NaT"], "M8[us]"),
    np.array([True, False]),
    np.array(["a", ""]),
]
SCALARS = [np.float32(1.5), np.int64(-3), np.True_, np.datetime64("2020-01-01", "us")]
integers = st.integers(-(1 << 70), 1 << 70)
places = st.builds(Place, integers, integers)
texts = st.text(st.characters(exclude_categories=()), max_size=5)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    st.floats(),
    texts,
    st.binary(max_size=5),
    places,
    st.sampled_from(SCALARS),
)
keys = st.one_of(atoms, st.tuples(atoms, atoms), st.frozensets(st.integers(), max_size=1))
# Long enough to be written by columns.
alike = st.one_of(
    st.builds(
        lambda some, times: some * times,
        st.lists(kind, min_size=8, max_size=10),
        st.sampled_from([1, 8]),
    )
    for kind in (
        *(st.integers(-(1 << bits), (1 << bits) - 1) for bits in (7, 15, 31, 63)),
        st.integers(0, (1 << 64) - 1),
        integers,
        st.floats(),
        st.booleans(),
        texts,
        st.binary(max_size=3),
        st.tuples(integers, texts),
        st.tuples(st.integers(-200, 200), st.floats(), st.binary(max_size=3)),
        places,
        st.builds(Note, texts, atoms),
    )
)
leaves = st.one_of(
    keys, alike, st.sampled_from([*ARRAYS, ROWS]), st.sets(keys, max_size=3), st.sets(st.integers())
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(Note, texts, inner),
    ),
    max_leaves=4,
)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, of the same types, in the same order; NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Note):
        return all(same(getattr(one, name), getattr(other, name)) for name in Note.__slots__)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, pa.RecordBatch):
        return one.equals(other, check_metadata=True)
    if isinstance(one, set | frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)


@given(values)
@example([1 << 4000, -(1 << 64), 1 << 64, (1 << 64) - 1])
@example(
    [[()] * 9, [(1, 2), (3,)] * 9, [True] * 99, [None] * 99, [1 << 63] * 99, [1 << 64, 0] * 99, [b""] * 99]
)
@example([float("nan"), float("inf"), -0.0, "\ud800", {float("nan"): {}}])
def test_what_is_read_is_what_was_written(value: Any) -> None:
    assert same(decode(encode(value)), value)


def test_numbers_of_any_length() -> None:
    assert decode(encode(10**6000)) == 10**6000


def test_arrays_can_be_changed() -> None:
    found = decode(encode({"x": np.arange(3)}))["x"]
    found += 1
    assert found.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "value",
    [object(), print, np.array([object()]), np.zeros(2, [("a", "i8")]), Path("x"), {1: [bytearray(b"x")]}],
    ids=["object", "function", "objects", "structure", "path", "bytearray"],
)
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        encode(value)


@given(values, st.data())
def test_damage_is_noticed(value: Any, data: st.DataObject) -> None:
    whole = encode(value)
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = data.draw(st.integers(1, 255))
    damaged = [whole[:at] + bytes([whole[at] ^ flipped]) + whole[at + 1 :], whole[:at], whole + b"x"]
    for content in damaged:
        with pytest.raises((DamagedRun, CheckpointMismatch)) as caught:
            decode(content)
        assert caught.value.detail
        assert caught.value.hint


def test_a_pickle_is_refused_unread(tmp_path: Path) -> None:
    content = b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    for pickled in (content, pickle.dumps({"windows": []}), b""):
        with pytest.raises(CheckpointMismatch, match="not in a form that this version reads") as caught:
            decode(pickled)
        assert "it starts with" in caught.value.detail
        assert "new checkpoint" in caught.value.hint
    assert not (tmp_path / "ran").exists()


def rewritten(content: bytes, old: bytes, new: bytes) -> bytes:
    """State as another version would have written it."""
    from watersmeet.kernel import encoding

    body = content[encoding._START.size + encoding._SIZE.size :].replace(old, new)
    body = encoding._SIZE.pack(len(body)) + body
    return encoding._START.pack(b"WMSTATE", 1, encoding.blob_checksum(body)) + body


def test_a_field_that_was_not_there_yet_takes_its_default() -> None:
    old = rewritten(encode(Place(3, 4)), b'"width","number"', b'"width"')
    old = rewritten(old, b",3,4]", b",3]")
    assert decode(old) == Place(3, 7)


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        (b'"number"', b'"colour"', 'a "test place" has "colour", unlike in this version.'),
        (b'"width",', b"", 'a "test place" has no "width", unlike in this version.'),
        (b"test place", b"subprocess.Popen", 'it holds a "subprocess.Popen", which is not known.'),
    ],
)
def test_what_another_version_has_written_is_refused(old: bytes, new: bytes, detail: str) -> None:
    with pytest.raises(CheckpointMismatch) as caught:
        decode(rewritten(encode(Place(3, 4)), old, new))
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    "said",
    [b'["array","|O",0,1]', b'["array","<i8",9,1]', b'["eval","1"]', b'["record","os",1]', b"[" * 99999],
)
def test_outlines_that_make_no_sense(said: bytes) -> None:
    with pytest.raises(DamagedRun, match="damaged"):
        decode(rewritten(encode("outline"), b'"outline"', said))


def test_another_kind_and_another_version_are_refused() -> None:
    with pytest.raises(CheckpointMismatch, match="it holds int, not Note"):
        decode(encode(5), Note)
    with pytest.raises(CheckpointMismatch, match="it has version 2, and this is version 1"):
        decode(b"WMSTATE\x02" + encode(5)[8:])
