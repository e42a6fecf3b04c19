"""The archive of classes that Java starts faster with.

Would catch: a draft that was not finished taken for the archive, one from a folder that others can write to,
Java that does not start with it, or says things on standard output.
"""

import struct
import sys
import time
from pathlib import Path

import pytest

from harness import programs
from watersmeet.spark.class_archive import VARIABLE, archive_options

WHOLE = struct.pack("<I", 0xF00BABA8) + b"and so on"


@pytest.fixture(autouse=True)
def _archives_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def option(folder: Path) -> str:
    first, quiet = archive_options(folder)
    assert quiet.startswith("-Xlog:")
    return first


def test_a_draft_becomes_the_archive_when_it_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    draft = Path(option(folder).removeprefix("-XX:ArchiveClassesAtExit="))
    assert draft.parent == folder
    assert option(folder) != str(draft), "two sessions must not write to one file"
    draft.write_bytes(bytes(4) + b"and so on")
    assert option(folder).startswith("-XX:ArchiveClassesAtExit=")
    draft.write_bytes(WHOLE)
    archive = Path(option(folder).removeprefix("-XX:SharedArchiveFile="))
    assert archive.read_bytes() == WHOLE
    assert not draft.exists()


def test_only_what_nobody_else_can_change_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "classes"
    Path(option(folder).removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(WHOLE)
    assert option(folder).startswith("-XX:SharedArchiveFile=")
    folder.chmod(0o777)
    assert archive_options(folder) == []
    folder.chmod(0o700)
    monkeypatch.setenv(VARIABLE, "no")
    assert archive_options(folder) == []


def test_without_java_or_with_a_space_in_the_path_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archive_options(tmp_path / "a b") == []
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive_options(tmp_path / "classes") == []


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_second_session_has_the_classes_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "watersmeet" / "classes"
    first = programs.run("harness.short_session", log=tmp_path / "first.log")
    assert "mapped: False\n" in first
    # Java writes it when Python has ended.
    for _ in range(600):
        if option(folder).startswith("-XX:SharedArchiveFile="):
            break
        time.sleep(0.1)
    second = programs.run("harness.short_session", log=tmp_path / "second.log")
    assert "mapped: True\n" in second
    assert "[cds" not in first + second
