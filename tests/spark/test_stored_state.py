"""Whoever can write a checkpoint or a mailbox can spoil it, and do no more.

Would catch: planted bytes that run code in a worker, state that names files elsewhere, an error that does
not say what is wrong, indexes that are made anew in every batch. Spark's map state is a dictionary here.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.errors import CheckpointMismatch, DamagedMessage, DamagedRun, WatersmeetError
from watersmeet.kernel.bucket import Bucket
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.run import Rows, build_run
from watersmeet.kernel.shares import Piece, Shares
from watersmeet.kernel.sites.packet import from_bytes as packets_of
from watersmeet.kernel.time_slices import TimeSlice
from watersmeet.kernel.value_index import value_index
from watersmeet.optimize.adapt import Remembered
from watersmeet.spark.host.local_runs import LocalRuns
from watersmeet.spark.host.mail_books import LinkTotals, MailBooks
from watersmeet.spark.host.state import MANIFEST, BucketState, Manifest, RunEntry, with_columns
from watersmeet.spark.mail.folder import FolderMailbox


class MapState:
    """As Spark's."""

    def __init__(self, **values: bytes) -> None:
        self.values = {(name,): value for name, value in values.items()}

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        return (self.values[key],) if key in self.values else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.values[key] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.values.pop(key, None)


class Malicious:
    """Leaves a file wherever it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def site(values: MapState, folder: Path) -> Any:
    """A bucket that keeps its values apart, as sites do."""
    task: Any = SimpleNamespace(
        kind=SimpleNamespace(stays_in_memory=True),
        name="join",
        buckets=("oslo",),
        inputs=(),
        maker=lambda _number, _name: Bucket(),
    )
    return BucketState(values, LocalRuns(folder), "{}").bucket(task, 0, "query")


READERS: dict[str, tuple[Callable[[bytes, Path], Any], type[WatersmeetError], str]] = {
    "manifest": (
        lambda bad, folder: BucketState(MapState(manifest=bad), LocalRuns(folder), "{}"),
        CheckpointMismatch,
        "not in a form that this version reads",
    ),
    "value of a site": (
        lambda bad, folder: site(
            MapState(**{"manifest": encode(Manifest("{}", apart=("part",))), "value/part": bad}), folder
        ),
        CheckpointMismatch,
        "not in a form that this version reads",
    ),
    "mail": (
        lambda bad, folder: FolderMailbox(str(planted(folder, bad))).read("bonn", "oslo", 0),
        DamagedMessage,
        "mail .* is damaged",
    ),
    "body of a mail": (lambda bad, _: packets_of(bad), DamagedMessage, "cannot be read"),
}


def planted(mailbox: Path, mail: bytes) -> Path:
    place = mailbox / "bonn" / "oslo"
    place.mkdir(parents=True)
    (place / "000000000000.mail").write_bytes(mail)
    return mailbox


@pytest.mark.parametrize("where", READERS)
def test_a_pickle_that_was_planted_does_not_run(where: str, tmp_path: Path) -> None:
    trap = tmp_path / "it ran"
    bad = pickle.dumps(Malicious(trap))
    pickle.loads(bad)  # noqa: S301 - it is a trap
    trap.unlink()
    read, error, fact = READERS[where]
    with pytest.raises(error, match=fact) as caught:
        read(bad, tmp_path / "folder")
    assert not trap.exists()
    assert caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize(
    "head", [b"[[0,1,{}]]", b"7", b'[["0",1,{},{"rows":9}]]', b'[["0",1,{},{"rows":"x"}]]']
)
def test_mail_that_says_nonsense_is_refused(head: bytes) -> None:
    """Under a right checksum, as who plants it would see to."""
    with pytest.raises(DamagedMessage, match="cannot be read"):
        packets_of(len(head).to_bytes(4, "little") + head)


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc/passwd", "..", "", "a/b", ".hidden"])
def test_a_run_cannot_lie_elsewhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    local_runs = LocalRuns(tmp_path / "join" / "0")
    for act in (
        lambda: local_runs.put(name, b"planted"),
        lambda: local_runs.get(name, 7, 0, lambda: b"planted"),
        lambda: local_runs.keep_only(set(), [name]),
    ):
        with pytest.raises(DamagedRun, match="a name that cannot be one"):
            act()
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_mail_cannot_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "000000000000.mail").write_text("mine")
    mailbox = FolderMailbox(str(tmp_path / "mail"))
    for sender in ("../../..", "..", "", "a/b"):
        with pytest.raises(DamagedMessage, match="no site can send"):
            mailbox.discard("bonn", sender, 5)
    assert (tmp_path / "000000000000.mail").exists()


def entries(count: int) -> list[RunEntry]:
    return [RunEntry(f"run{n}", 60, n, 5, n, n + 9, 700, 1 << 60, 800) for n in range(count)]


def test_what_a_bucket_and_a_site_remember_comes_back(tmp_path: Path) -> None:
    manifest = Manifest(
        "{}",
        [entries(20), entries(3), []],
        1_700_000_000_000,
        {
            "paths": Remembered(((0, 1), (1, 0)), (((0, 1), (5, 6), 2), ((1, 0), (), 0))),
            "shares": {0: Shares(4, 3, [Piece(n, 10, 5) for n in range(9)])},
            "found": {"run1": 0.5},
        },
        mail=MailBooks({"oslo": 3}, {"bonn": LinkTotals(1, 2, 3)}, 8),
        named=20,
    )
    values = MapState(manifest=encode(manifest))
    assert BucketState(values, LocalRuns(tmp_path), "{}").manifest == manifest
    pieces = decode(encode([TimeSlice(60, n) for n in range(9)]))
    assert pieces[8].number == 8


def test_a_value_that_is_listed_and_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedRun, match="stored state value/part is missing"):
        site(MapState(manifest=encode(Manifest("{}", apart=("part",)))), tmp_path)


def test_state_of_something_else_is_refused(tmp_path: Path) -> None:
    """Bytes of ours in the wrong place."""
    values = MapState()
    values.updateValue(MANIFEST, (encode(MailBooks()),))
    with pytest.raises(CheckpointMismatch) as caught:
        BucketState(values, LocalRuns(tmp_path), "{}")
    assert caught.value.detail == "it holds MailBooks, not Manifest."


def test_a_run_that_lacks_columns_keeps_its_indexes_from_batch_to_batch() -> None:
    """Columns were added between two starts: otherwise every batch sorts all older rows once more."""
    stored = pa.record_batch([pa.array(np.arange(20) % 3)], ["y"])
    run = build_run(Rows(encode_keys([pa.array(np.zeros(20, np.int64))]), np.arange(20), stored))
    more = pa.schema([("added", pa.string()), *stored.schema])
    first = with_columns(run, more)
    assert first.columns.column(0).null_count == 20
    assert first.columns.column(1).equals(run.columns.column(0))
    index = value_index(first, (1,))
    assert index is not None
    assert value_index(with_columns(run, more), (1,)) is index
    # The next start adds one more.
    again = with_columns(run, pa.schema([("newer", pa.int64()), *more]))
    assert again.columns.schema.names == ["newer", "added", "y"]
    assert value_index(again, (2,)) is not index
