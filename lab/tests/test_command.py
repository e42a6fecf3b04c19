"""`watersmeet-lab`.

Would catch: a help that loads plots, a page that is not written, options that do nothing, an exit
code that says all is well.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.programs import environment
from watersmeet_lab.command import main
from watersmeet_lab.papers.bench import Options, Paper, Step
from watersmeet_lab.papers.claim import Claim, fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.semijoin import paper as semijoin


def pretend(monkeypatch: pytest.MonkeyPatch, *claims: Claim) -> list[Options]:
    """Put a short paper in the place of a long one; returns what it was asked for."""
    asked: list[Options] = []

    def paper(options: Options) -> Paper:
        asked.append(options)
        return Paper("A paper", "", "", (Step("Fig. 1", lambda _: Experiment("Fig. 1", "", claims)),))

    monkeypatch.setattr(semijoin, "paper", paper)
    return asked


def test_a_page_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = pretend(
        monkeypatch, Claim("it holds", "yes", holds=True), Claim("no", "", holds=False, known=fails("a slip"))
    )
    log = tmp_path / "log.tsv"
    arguments = ["semijoin", "--out", str(tmp_path), "--full", "--seed", "7", "--log", str(log)]
    assert main(arguments) == 0
    assert asked == [Options(full=True, seed=7, log=log)]
    assert "1 of 2 reproduced: " in capsys.readouterr().out
    assert "it holds" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize(
    "claim",
    [
        Claim("It grows.", "it falls", holds=False),
        Claim("It grows.", "it falls", holds=True, known=fails("a slip")),
    ],
)
def test_a_changed_verdict_fails(
    claim: Claim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For better or for worse: what is known explains neither."""
    pretend(monkeypatch, claim)
    assert main(["semijoin", "--out", str(tmp_path)]) == 1
    assert "changed: It grows. it falls" in capsys.readouterr().err


def test_a_missing_log_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "nothing.tsv"
    assert main(["semijoin", "--out", str(tmp_path), "--log", str(missing)]) == 2
    assert "cannot be read as a web log" in capsys.readouterr().err


def test_a_paper_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    with pytest.raises(SystemExit):
        main(["pmjoin", "--log", "file"])
    errors = capsys.readouterr().err
    assert "required: PAPER" in errors
    assert "unrecognized arguments: --log" in errors


def test_help_loads_no_plots() -> None:
    program = (
        "import sys, watersmeet_lab.command; "
        "heavy = 'matplotlib', 'scipy', 'rich', 'watersmeet_lab.papers.bench'; "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.strip() == "[]"
