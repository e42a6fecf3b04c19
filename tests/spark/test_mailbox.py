"""Mail between sites is written whole, read once and in order, and says where it belongs.

Would catch: mail that is doubled when a batch runs again, half-written mail that is read, mail of another
deployment that is taken for our own, damage that goes unnoticed, mail that piles up.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from harness.harm import HARMS
from watersmeet.errors import CheckpointMismatch, DamagedMessage, MailConflict
from watersmeet.kernel.content import in_order
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.run import Rows
from watersmeet.spark.mail.folder import FolderMailbox
from watersmeet.spark.mail.mailbox import Address, seal, unseal
from watersmeet.spark.mail.pairing import pair
from watersmeet.spark.mail.post import post_mail
from watersmeet.spark.mail.source import MailReader


def address(number: int, deployment: str = "ours") -> Address:
    return Address(deployment, "oslo", "bonn", number)


def reader(folder: Path) -> MailReader:
    return MailReader({"mailbox": str(folder), "sites": "bonn", "labels": "5", "deployment": "ours"})


def bodies(of: MailReader, start: dict[str, int], end: dict[str, int]) -> list[bytes]:
    batches = [batch for part in of.partitions(start, end) for batch in of.read(part)]
    return [unseal(mail, "read")[1] for batch in batches for mail in batch.column("blob").to_pylist()]


def test_mail_is_read_in_order_once_and_removed(tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    start = source.initialOffset()
    assert source.latestOffset(start, None) == start
    for number in range(2):
        mailbox.post(address(number), b"%d" % number)
    middle = source.latestOffset(start, None)
    assert bodies(source, start, middle) == [b"0", b"1"]
    source.commit(middle)
    for number in range(2, 4):
        mailbox.post(address(number), b"%d" % number)
    end = source.latestOffset(middle, None)
    assert bodies(source, middle, end) == [b"2", b"3"]
    source.commit(end)
    assert not list(tmp_path.glob("**/*.mail"))
    assert source.latestOffset(end, None) == end


def test_small_mail_does_not_overtake_large_mail(tmp_path: Path) -> None:
    """Large mail is posted by the workers: whoever reads must never see a gap."""
    mailbox, posted = FolderMailbox(str(tmp_path)), []
    rows = [
        SimpleNamespace(sender="oslo", receiver="bonn", number=n, body=None if n == 1 else b"%d" % n)
        for n in (2, 0, 1)
    ]
    rows.append(SimpleNamespace(sender="oslo", receiver="rome", number=5, body=b"5"))

    class Large:
        def mapInArrow(self, _post: object, _schema: str) -> "Large":  # noqa: N802 - Spark's name
            return self

        def collect(self) -> None:
            posted.extend(sorted(file.name for file in tmp_path.glob("*/*/*.mail")))
            mailbox.post(address(1), b"1")

    post_mail(mailbox, "ours", rows, Large())
    assert posted == ["000000000000.mail", "000000000005.mail"]
    assert mailbox.waiting("bonn", "oslo", -1, "ours") == 2


def test_mail_that_was_lost_is_named(tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    for number in range(3):
        mailbox.post(address(number), b"mail")
    (tmp_path / "bonn" / "oslo" / "000000000001.mail").unlink()
    middle = source.latestOffset(source.initialOffset(), None)
    assert middle["bonn/oslo"] == 0
    with pytest.raises(DamagedMessage, match=r"000000000001\.mail is gone"):
        source.latestOffset(middle, None)


def test_a_checkpoint_and_a_mailbox_belong_together(tmp_path: Path) -> None:
    first, second = (str(tmp_path / name) for name in ("c1", "c2"))
    mailbox, other = (FolderMailbox(str(tmp_path / name)) for name in ("mail", "other mail"))
    pair(first, mailbox, ["oslo", "bonn"])
    # Killed between two marks, before anything was done.
    (tmp_path / "mail" / "bonn" / "watersmeet-mailbox").unlink()
    pair(first, mailbox, ["oslo", "bonn"])
    (tmp_path / "c1" / "commits").mkdir()
    (tmp_path / "c1" / "commits" / "0").touch()
    pair(first, mailbox, ["oslo", "bonn"])
    with pytest.raises(CheckpointMismatch, match='site "oslo" was started before with another checkpoint'):
        pair(second, mailbox, ["oslo"])
    with pytest.raises(CheckpointMismatch, match="is not the one"):
        pair(first, other, ["oslo", "bonn"])
    pair(second, mailbox, ["tokyo"])


def test_mail_that_is_posted_again_is_there_once(tmp_path: Path) -> None:
    mailbox = FolderMailbox(str(tmp_path))
    sizes = [mailbox.post(address(0), b"same") for _ in range(3)]
    assert len(set(sizes)) == 1
    assert sizes[0] == len(seal(address(0), b"same"))
    assert len(list((tmp_path / "bonn" / "oslo").iterdir())) == 1


def test_mail_that_was_read_and_is_posted_again_is_not_read_again(tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    mailbox.post(address(0), b"first")
    end = source.latestOffset(source.initialOffset(), None)
    source.commit(end)
    mailbox.post(address(0), b"first")
    assert source.latestOffset(end, None) == end


def test_different_mail_under_one_number_is_refused(tmp_path: Path) -> None:
    mailbox = FolderMailbox(str(tmp_path))
    mailbox.post(address(0), b"one")
    with pytest.raises(MailConflict, match="already there, and different") as caught:
        mailbox.post(address(0), b"another")
    assert "empty mailbox" in caught.value.hint


def test_mail_of_another_deployment_is_set_aside_and_reported(tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    mailbox.post(address(0), b"ours")
    mailbox.post(address(1, "older plan"), b"theirs")
    start = source.initialOffset()
    end = source.latestOffset(start, None)
    assert bodies(source, start, end) == [b"ours"]
    assert mailbox.refused() == ["bonn/oslo/000000000001.refused"]
    mailbox.post(address(1), b"ours too")
    assert bodies(source, end, source.latestOffset(end, None)) == [b"ours too"]


def test_our_mail_takes_the_place_of_mail_of_another_deployment(tmp_path: Path) -> None:
    mailbox = FolderMailbox(str(tmp_path))
    mailbox.post(address(0, "theirs"), b"theirs")
    mailbox.post(address(0), b"ours")
    assert mailbox.read("bonn", "oslo", 0) == b"ours"
    assert mailbox.refused() == ["bonn/oslo/000000000000.refused"]


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_damaged_mail_is_named_and_what_follows_is_not_lost(harm, tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    for number in range(3):
        mailbox.post(address(number), b"mail %d" % number)
    file = tmp_path / "bonn" / "oslo" / "000000000001.mail"
    whole = file.read_bytes()
    start = source.initialOffset()
    end = source.latestOffset(start, None)
    harm(file)
    with pytest.raises(DamagedMessage, match=r"000000000001\.mail"):
        bodies(source, start, end)
    file.write_bytes(whole)
    assert bodies(source, start, end) == [b"mail 0", b"mail 1", b"mail 2"]


def test_mail_in_the_place_of_other_mail_is_noticed(tmp_path: Path) -> None:
    mailbox = FolderMailbox(str(tmp_path))
    for number in range(2):
        mailbox.post(address(number), b"mail %d" % number)
    place = tmp_path / "bonn" / "oslo"
    (place / "000000000001.mail").write_bytes((place / "000000000000.mail").read_bytes())
    with pytest.raises(DamagedMessage, match="it is number 0 from oslo"):
        mailbox.read("bonn", "oslo", 1)


def test_files_of_others_in_the_mailbox_do_no_harm(tmp_path: Path) -> None:
    mailbox, source = FolderMailbox(str(tmp_path)), reader(tmp_path)
    mailbox.post(address(0), b"mail")
    place = tmp_path / "bonn" / "oslo"
    (place / "notes.mail").write_text("mine")
    (place / "000000000001.mail").write_bytes(seal(address(1), b"")[:20] + b"{}")
    end = source.latestOffset(source.initialOffset(), None)
    assert end["bonn/oslo"] == 1, "damage is found by who reads"
    source.commit(end)
    assert [file.name for file in place.iterdir()] == ["notes.mail"]


def rows_as(values: list[object], kind: pa.DataType) -> Rows:
    keys = Keys(np.zeros(len(values), np.uint64), None)
    return Rows(keys, np.full(len(values), 5), pa.record_batch([pa.array(values, kind)], ["v"]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1, None, 2], pa.int64()),
        ([0.0, -0.0, 1.5], pa.float64()),
        ([[("a", 1)], [("b", 2)], [("c", 3)]], pa.map_(pa.string(), pa.int64())),
        (["x", "", "xx", None], pa.string()),
    ],
    ids=str,
)
def test_rows_of_equal_time_are_put_in_one_order(values: list[object], kind: pa.DataType) -> None:
    """A batch that runs again must send the same mail, whatever the order its rows come in."""
    forth, back = (in_order(rows_as(list(some), kind)) for some in (values, reversed(values)))
    assert repr(forth.columns.to_pylist()) == repr(back.columns.to_pylist())


def test_what_a_mail_says() -> None:
    assert unseal(seal(address(7), b"body"), "x") == (address(7), b"body")


def test_drafts_are_not_mail(tmp_path: Path) -> None:
    place = tmp_path / "bonn" / "oslo"
    place.mkdir(parents=True)
    (place / ".draft").write_bytes(b"half a mai")
    source = reader(tmp_path)
    assert source.latestOffset(source.initialOffset(), None) == source.initialOffset()
