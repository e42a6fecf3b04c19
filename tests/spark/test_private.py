"""What we leave on a disk that others share is closed to them, and nothing of theirs is believed.

Would catch: rows or mail that other users can read, a folder or an end marker that somebody else has planted,
mail that counts as sent and is gone after a power loss, a shared mailbox that its group cannot use.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watersmeet.errors import UnsafeFolder
from watersmeet.spark.host.control import ControlReader
from watersmeet.spark.host.local_runs import LocalRuns, local_folder
from watersmeet.spark.mail.folder import FolderMailbox
from watersmeet.spark.mail.mailbox import Address
from watersmeet.spark.mail.pairing import pair
from watersmeet.spark.private import believed, own_name, private_folder, put_file

# Nobody here.
STRANGER = 65_432
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True, params=[0o022, 0o077, 0o000], ids="umask {:04o}".format)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever the process gives to new files."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.lstat().st_mode):04o}"


def modes(root: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"folders": set(), "files": set()}
    for path in root.rglob("*"):
        found["folders" if path.is_dir() else "files"].add(mode(path))
    return found


def plant_link(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def plant_open(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)


def plant_file(folder: Path) -> None:
    folder.touch()


def plant_foreign(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)


PLANTED = [
    pytest.param(plant_link, "it is a symbolic link", id="link"),
    pytest.param(plant_open, "its mode is 0755 and should be 0700", id="open"),
    pytest.param(plant_file, "it is not a folder", id="file"),
    pytest.param(plant_foreign, f"it belongs to user {STRANGER}", id="foreign", marks=as_root),
]


@pytest.mark.parametrize(("plant", "why"), PLANTED)
def test_a_folder_that_others_can_enter_is_refused(
    plant: Callable[[Path], None], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    plant(tmp_path / own_name())
    with pytest.raises(UnsafeFolder, match="is not safe to use") as caught:
        local_folder()
    assert caught.value.detail.startswith(why)
    assert "spark.local.dir" in caught.value.hint


def test_local_files_are_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert local_folder() == local_folder() == tmp_path / f"watersmeet-{os.getuid()}"
    LocalRuns(local_folder() / "query" / "join" / "0").put("run1", b"rows")
    assert modes(tmp_path) == {"folders": {"0700"}, "files": {"0600"}}


def reader(folder: Path) -> ControlReader:
    return ControlReader({"folder": str(folder), "streams": "2", "labels": "0", "seconds": "9"})


def ended(folder: Path, stream: int, plant: Callable[[Path], None]) -> list[int]:
    """Which streams have ended for a reader after a marker was left."""
    control = reader(folder)
    start = control.initialOffset()
    plant(folder / f"{start['run']}-ended-{stream}")
    found: list[int] = control.latestOffset(start, None)["ended"]
    return found


def foreign_marker(marker: Path) -> None:
    marker.touch()
    os.chown(marker, STRANGER, STRANGER)


def test_our_own_end_marker_is_believed(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / own_name() / "run")
    assert ended(folder, 1, lambda marker: put_file(marker, b"")) == [1]
    assert modes(tmp_path) == {"folders": {"0700"}, "files": {"0600"}}
    assert not believed(folder / "nothing")


@as_root
def test_an_end_marker_of_somebody_else_is_not_believed(tmp_path: Path) -> None:
    assert ended(private_folder(tmp_path / "run"), 1, foreign_marker) == []


@pytest.mark.parametrize(("plant", "why"), [case for case in PLANTED if case.id != "file"])
def test_an_end_marker_in_a_folder_that_others_can_enter_is_not_believed(
    plant: Callable[[Path], None], why: str, tmp_path: Path
) -> None:
    plant(tmp_path / "run")
    assert ended(tmp_path / "run", 0, lambda marker: marker.touch()) == [], why


def use(mailbox: Path, checkpoint: Path) -> None:
    pair(str(checkpoint), FolderMailbox(str(mailbox)), ["oslo", "bonn"])
    FolderMailbox(str(mailbox)).post(Address("ours", "oslo", "bonn", 0), b"mail")


def test_a_new_mailbox_is_ours_alone(tmp_path: Path) -> None:
    use(tmp_path / "new" / "mail", tmp_path / "checkpoint")
    assert mode(tmp_path / "new") == "0700"
    assert modes(tmp_path / "new") == {"folders": {"0700"}, "files": {"0600"}}


@pytest.mark.parametrize(
    ("given", "folders", "files"),
    [(0o755, "0700", "0600"), (0o770, "0770", "0660"), (0o2770, "2770", "0660")],
    ids=["readable", "group", "group kept"],
)
def test_a_mailbox_that_is_there_keeps_its_mode(given: int, folders: str, files: str, tmp_path: Path) -> None:
    """Users of a group may share it on purpose; others never get more than a look at its names."""
    mailbox = tmp_path / "mail"
    mailbox.mkdir()
    mailbox.chmod(given)
    use(mailbox, tmp_path / "checkpoint")
    assert mode(mailbox) == f"{given:04o}"
    assert modes(mailbox) == {"folders": {folders}, "files": {files}}


class Recorded:
    """What was asked of the disk, in order."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.events = root, list[tuple[str, str]]()
        sync, rename, make = os.fsync, os.replace, os.mkdir

        def fsync(descriptor: int) -> None:
            sync(descriptor)
            self.note("sync", os.readlink(f"/proc/self/fd/{descriptor}"))

        def replace(source: Path, target: Path) -> None:
            self.note("written", source)
            rename(source, target)
            self.note("named", target)

        def mkdir(path: Path, *mode: int) -> None:
            make(path, *mode)
            self.note("made", path)

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "replace", replace)
        monkeypatch.setattr(os, "mkdir", mkdir)

    def note(self, what: str, path: Path | str) -> None:
        name = os.path.relpath(path, self.root)
        self.events.append((what, "draft" if Path(name).name.startswith(".") and name != "." else name))

    def take(self) -> list[tuple[str, str]]:
        events, self.events = self.events, []
        return events


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files are read from /proc")
def test_mail_that_counts_as_sent_survives_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Recorded(tmp_path, monkeypatch)
    mailbox = FolderMailbox(str(tmp_path / "mail"))
    mailbox.post(Address("ours", "oslo", "bonn", 0), b"first")
    written = [("sync", "draft"), ("written", "draft"), ("named", "mail/bonn/oslo/000000000000.mail")]
    assert disk.take() == [
        ("made", "mail"),
        ("sync", "."),
        ("made", "mail/bonn"),
        ("sync", "mail"),
        ("made", "mail/bonn/oslo"),
        ("sync", "mail/bonn"),
        *written,
        ("sync", "mail/bonn/oslo"),
        ("sync", "mail/bonn"),
        ("sync", "mail"),
    ]
    mailbox.post(Address("ours", "oslo", "bonn", 1), b"second")
    assert [what for what, _ in disk.take()] == ["sync", "written", "named", "sync"]
    # As after a kill between the name and its sync: the batch runs again, and posts it again.
    mailbox.post(Address("ours", "oslo", "bonn", 1), b"second")
    assert disk.take() == [("sync", "mail/bonn/oslo")]
    pair(str(tmp_path / "checkpoint"), mailbox, ["bonn"])
    marks = ("checkpoint/watersmeet-mailbox", "mail/bonn/watersmeet-mailbox")
    events = disk.take()
    for mark in marks:
        at = events.index(("named", mark))
        assert events[at - 2][0] == "sync"
        assert events[at + 1] == ("sync", str(Path(mark).parent))
