"""The archive of classes that Java starts faster with.

Would catch: a draft that was not finished taken for the archive, one from a folder that others can write to,
drafts that pile up, Java that does not start with it, or says things on standard output.
"""

import os
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


def test_drafts_do_not_pile_up(tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    drafts = [Path(option(folder).removeprefix("-XX:ArchiveClassesAtExit=")) for _ in range(4)]
    for draft in drafts[:2]:
        draft.write_bytes(WHOLE)
    for draft in drafts[2:]:
        draft.write_bytes(bytes(4))
    os.utime(drafts[2], (0, 0))
    assert option(folder).startswith("-XX:SharedArchiveFile=")
    assert sorted(path.suffix for path in folder.iterdir()) == [".draft", ".jsa"]
    assert drafts[3].exists(), "it may be written just now"


@pytest.mark.parametrize("name", ["it's", 'a"b', "a:b", "a\\b", "{a}"])
def test_paths_that_mean_something_to_spark_or_java(tmp_path: Path, name: str) -> None:
    assert archive_options(tmp_path / name) == []


@pytest.mark.parametrize(
    "told", ["-Xshare:off", "-XX:SharedArchiveFile=/a.jsa", "-XX:ArchiveClassesAtExit=/a"]
)
def test_whoever_chooses_an_archive_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    assert archive_options(tmp_path, {"spark.driver.defaultJavaOptions": told}) == []
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", told)
    assert archive_options(tmp_path) == []


def test_none_is_left_where_java_could_not_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "classes"
    # Java has no archive of its own classes for these: asked for another one, it would not start.
    assert archive_options(folder, {"spark.driver.defaultJavaOptions": "-Xint -XX:-UseSharedSpaces"}) == []
    assert archive_options(folder, {"spark.driver.memory": "much"}) == []
    conf = tmp_path / "conf"
    conf.mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    assert option(folder).startswith("-XX:ArchiveClassesAtExit=")
    (conf / "spark-defaults.conf").touch()
    assert archive_options(folder) == []


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", nowhere)
    assert archive_options() == []


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
