"""The Makefile's choice of a Python, with stand-ins for the interpreters."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "python.sh"


def run_script(path: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": str(path), "PYTHON": python},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def stand_in(path: Path, name: str, *, suitable: bool) -> None:
    file = path / name
    file.write_text(f"#!/bin/sh\nexit {0 if suitable else 1}\n")
    file.chmod(0o755)


def test_python3_is_first(tmp_path: Path) -> None:
    stand_in(tmp_path, "python3", suitable=True)
    stand_in(tmp_path, "python3.12", suitable=True)
    assert run_script(tmp_path).stdout == "python3\n"


@pytest.mark.parametrize("name", ["python3.13", "python3.12", "python3.11"])
def test_another_version_is_taken_where_python3_will_not_do(tmp_path: Path, name: str) -> None:
    stand_in(tmp_path, "python3", suitable=False)
    stand_in(tmp_path, name, suitable=True)
    assert run_script(tmp_path).stdout == f"{name}\n"


def test_a_named_python_is_the_only_one_tried(tmp_path: Path) -> None:
    stand_in(tmp_path, "python3", suitable=True)
    stand_in(tmp_path, "mine", suitable=False)
    done = run_script(tmp_path, python=os.fspath(tmp_path / "mine"))
    assert done.returncode == 1
    assert f"Tried: {tmp_path / 'mine'}." in done.stderr


def test_none_will_do(tmp_path: Path) -> None:
    done = run_script(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Watersmeet needs Python 3.11, 3.12 or 3.13" in done.stderr
