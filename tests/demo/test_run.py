"""The demos as a user runs them, the flights in a process of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    for name in ("temporary", "working"):
        (tmp_path / name).mkdir()
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "watersmeet", "demo", *arguments],
        # A time zone far from New York and from UTC must not show.
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary"), "TZ": "Asia/Tokyo"},
        cwd=tmp_path / "working",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_nothing_left(tmp_path: Path) -> None:
    assert list((tmp_path / "temporary").iterdir()) == []
    assert list((tmp_path / "working").iterdir()) == []


@pytest.mark.soak
def test_flights(tmp_path: Path) -> None:
    process = start(tmp_path)
    shown, errors = process.communicate(timeout=300)
    assert errors == ""
    assert process.returncode == 0
    assert "19,233 results from 336,776 rows" in shown
    assert "ok  counted again with NumPy, without Spark or the join: 19,233" in shown
    assert "WRONG" not in shown
    assert "watermark 2013-12-31 02:25:59, held back by JFK" in shown
    assert "ATL  DL 575  06:15 (+0)  DL 1743 06:06 (-4)  DL 461  05:54 (-6)" in shown
    assert_nothing_left(tmp_path)


def test_generated_streams(command: Callable[..., str]) -> None:
    """In the session of the tests: what a process of its own adds is the same as for the flights."""
    shown = command(
        *("demo", "--generated", "--streams", "3", "--rate", "1000", "--seconds", "8"),
        *("--window", "2 seconds", "--keys", "5000", "--skew", "0.3"),
        *("--disorder", "3 seconds", "--batches", "2"),
    )
    assert "from 24,000 rows" in shown
    assert shown.count("\nok  ") == 3


def test_ctrl_c_while_the_join_is_at_work(tmp_path: Path) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("The join at work"):
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors == "Stopped.\n"
    assert process.returncode == 130
    assert_nothing_left(tmp_path)
