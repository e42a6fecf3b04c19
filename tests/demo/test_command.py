"""The command line, as far as it goes without Spark."""

import os
import subprocess
import sys
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest

import watersmeet
from watersmeet.cli import main
from watersmeet.demo.generated import Options
from watersmeet.demo.images import cameras


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"watersmeet {watersmeet.__version__}\n"


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(("demo", "options"), [(["demo"], Options), (["demo", "images"], cameras.Options)])
def test_help_tells_the_true_defaults(
    demo: list[str], options: type, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*demo, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for field in fields(options):
        value = field.default
        told = f'"{value.seconds} seconds"' if isinstance(value, timedelta) else f"{value:g}"
        assert f"(default: {told})" in text.split(f"--{field.name} ")[-1].split(" --")[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["demo", "--cores", "0"], 'argument --cores: "0" is not a positive whole number'),
        (["demo", "--cores", "many"], 'argument --cores: "many" is not a positive whole number'),
        (["demo", "--generated", "--window", "10 parsecs"], 'argument --window: unknown unit "parsecs"'),
        (["demo", "--generated", "--disorder", ""], "argument --disorder: empty text is not a duration"),
        (["demo", "--generated", "--rate", "fast"], "argument --rate: invalid int value: 'fast'"),
        (["demo", "--speed=9"], "unrecognized arguments: --speed=9"),
        (["demo", "birds"], "argument NAME: invalid choice: 'birds'"),
        (["demo", "images", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_what_cannot_be_read(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--streams", "3"], "--streams is an option of generated streams"),
        (["--generated", "--streams", "1"], "streams is 1"),
        (["--generated", "--skew", "-1"], "skew is -1.0"),
        (["--generated", "--rate", "2000", "--keys", "10"], "the join would have"),
        (["--generated", "images"], "--generated is an option of another demo"),
        (["--keys", "10", "images"], "--keys is an option of another demo"),
        (["--seconds", "0", "images"], "seconds is 0"),
    ],
)
def test_what_makes_no_sense(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"watersmeet: {complaint}")
    assert "hint: " in shown.err
    assert shown.out == ""


def without_java(tmp_path: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return environment | {"PATH": "", "WATERSMEET_JAVA_PLACES": "", "TMPDIR": str(tmp_path)}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"]])
def test_help_needs_no_java(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "watersmeet", *arguments]
    assert subprocess.run(command, env=without_java(tmp_path), capture_output=True).returncode == 0


def test_a_demo_without_java_says_what_to_install_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "watersmeet", "demo"],
        env=without_java(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("watersmeet: no Java 17 or newer found")
    assert "hint: install one" in done.stderr
    assert list(tmp_path.iterdir()) == []
