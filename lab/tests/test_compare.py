"""`make bench-compare`, except for its runs.

Would catch: processor time of workers or of processes that have ended left out, a ratio of runs that did not
come together, different results that pass, a work tree that stays behind, the wrong version.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from watersmeet_lab.compare.__main__ import main, same_results
from watersmeet_lab.compare.figures import Comparison, Figure
from watersmeet_lab.compare.processor_time import tree_seconds
from watersmeet_lab.compare.run import Run
from watersmeet_lab.compare.shapes import SHAPES, WARM_BATCHES
from watersmeet_lab.compare.versions import NoSuchVersion, checked_out, repository_of, working_tree

# Starts itself until it is deep enough, and lives on until its input ends, except for the last one.
WORK = """
import subprocess, sys, time
depth = int(sys.argv[1])
if depth:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[2], str(depth - 1), sys.argv[2]],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    if depth == 1:
        child.communicate()
while time.process_time() < 0.4:
    pass
print(flush=True)
sys.stdin.read()
if depth > 1:
    child.communicate()
"""


def test_processor_time_counts_the_whole_tree_also_what_has_ended() -> None:
    before = tree_seconds()
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, "2", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    alive = tree_seconds(process.pid)
    process.communicate()
    # Each is counted in hundredths of a second, rounded down.
    assert 3 * 0.4 - 0.1 < alive < 3 * 0.4 + 1
    assert tree_seconds() - before > alive - 0.1
    assert tree_seconds(process.pid) == 0


def test_medians_spread_and_the_ratio_of_rounds() -> None:
    """The machine becomes twice as slow; in every round the new version takes a tenth more."""
    base = [1.0, 1.0, 2.0, 2.0, 2.0]
    one = Comparison.of(base, [1.1 * value for value in base])
    assert (one.base, one.base.spread) == (Figure(2.0, 1.0, 2.0), 0.5)
    assert (one.ratio.median, one.ratio.spread) == (pytest.approx(1.1), pytest.approx(0))
    with pytest.raises(ValueError, match="zip"):
        Comparison.of([1.0], [1.0, 2.0])


def test_other_results_or_another_checksum_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(1e-6, 10, 77)
    assert same_results("2 streams", [run, Run(2e-6, 10, 77)], [run])
    assert capsys.readouterr().out == ""
    for other in (Run(1e-6, 9, 77), Run(1e-6, 10, 78)):
        assert not same_results("2 streams", [run, run], [run, other])
        assert "RESULTS DIFFER, 2 streams" in capsys.readouterr().out


def test_every_shape_fills_its_windows_while_it_warms_up() -> None:
    for shape in SHAPES:
        workload = shape.workload(batches=6, batch_rows=40_000)
        assert workload.window_s * workload.rate == WARM_BATCHES * workload.stream_batch_rows == workload.keys


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", "-C", folder, *name, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def test_a_commit_is_checked_out_for_as_long_as_it_is_needed(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    file = repository / "src" / "version.txt"
    file.parent.mkdir(parents=True)
    git(repository, "init", "--quiet")
    for text in ("first", "second"):
        file.write_text(text)
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "--message", text)
    file.write_text("not committed")
    assert repository_of(file.parent) == Path(os.path.realpath(repository))
    with checked_out(repository, "HEAD~1", tmp_path / "base") as base:
        assert (base.source / "version.txt").read_text() == "first"
        assert (working_tree(repository).source / "version.txt").read_text() == "not committed"
        (base.source / "left.behind").touch()
    assert not base.source.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    with pytest.raises(NoSuchVersion), checked_out(repository, "HEAD~9", tmp_path / "other"):
        pass
    with pytest.raises(NoSuchVersion):
        repository_of(tmp_path)


def test_mistakes_are_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert main(["no-such-commit"]) == 2
    for mistake in (["--rounds", "0"], ["--batches", str(WARM_BATCHES)], ["--shapes", "5 streams"]):
        with pytest.raises(SystemExit):
            main(["HEAD", *mistake])
    assert "there is no shape '5 streams'" in capsys.readouterr().err
