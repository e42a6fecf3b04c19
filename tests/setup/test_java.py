"""Java is found, or its absence explained, with stand-ins for Java and apt-get: no network, no JVM."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import java
from watersmeet.errors import JavaNotFound

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "src" / "watersmeet" / "java.py"

ADVICE = [
    "sudo apt-get install openjdk-17-jre-headless",
    "brew install openjdk@17",
    "conda install -c conda-forge openjdk=17",
]


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str) -> Path:
    """A Java home whose bin/java answers -version as the real one does."""
    write_script(
        home / "bin" / "java",
        f'echo "    java.home = {home}" >&2\necho \'openjdk version "{version}" 2025-04-15\' >&2',
    )
    return home


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process and its children see no Java; returns the one, empty, folder on PATH."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv(java.PLACES_VARIABLE, str(tmp_path / "places" / "*"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.delenv(java.INSTALL_VARIABLE, raising=False)
    return folder


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As the Makefile runs it: on its own, by a Python that need not have the package."""
    return subprocess.run(
        [sys.executable, "-I", str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


class TestSearch:
    def test_nothing_found_is_one_message_with_advice_for_each_system(self, hidden: Path) -> None:
        done = run_script()
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("no Java 17 or newer found")
        for line in ADVICE:
            assert done.stderr.count(line) == 1

    def test_java_home(self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17.0.15")))
        done = run_script()
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'jdk'}\n", "")

    def test_java_home_comes_before_path(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "21.0.2")))
        monkeypatch.setenv("PATH", str(fake_java(tmp_path / "other", "17.0.15") / "bin"))
        assert run_script().stdout == f"{tmp_path / 'home'}\n"

    def test_a_link_on_path_leads_to_its_home(self, hidden: Path, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "jdk", "17.0.15")
        (hidden / "java").symlink_to(home / "bin" / "java")
        assert run_script().stdout == f"{home}\n"

    def test_a_wrapper_on_path_leads_to_its_home(self, hidden: Path, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "jdk", "17.0.15")
        write_script(hidden / "java", f'exec "{home}/bin/java" "$@"')
        assert run_script().stdout == f"{home}\n"

    def test_a_home_java_does_not_tell_is_worked_out(self, hidden: Path, tmp_path: Path) -> None:
        executable = write_script(tmp_path / "jdk" / "bin" / "java", "echo 'openjdk version \"21\"' >&2")
        (hidden / "java").symlink_to(executable)
        assert run_script().stdout == f"{tmp_path / 'jdk'}\n"

    def test_of_the_usual_places_the_oldest_that_will_do(self, hidden: Path, tmp_path: Path) -> None:
        for version in ("11.0.2", "25.0.3", "17.0.15", "21.0.2"):
            fake_java(tmp_path / "places" / f"jdk-{version}", version)
        assert run_script().stdout == f"{tmp_path / 'places' / 'jdk-17.0.15'}\n"

    def test_conda(self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(java.PLACES_VARIABLE)
        monkeypatch.setattr(java, "USUAL_PLACES", ())
        monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
        monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "base"))
        assert java.find_java() == (None, [])
        for prefix in ("base", "conda"):
            home = fake_java(tmp_path / prefix / "lib" / "jvm", "17.0.15")
            found, _ = java.find_java()
            assert found is not None
            assert found.home == str(home)


class TestPassedOver:
    @pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16.0.1"])
    def test_too_old(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
    ) -> None:
        home = fake_java(tmp_path / "old", version)
        monkeypatch.setenv("PATH", str(home / "bin"))
        done = run_script()
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{home}/bin/java (PATH) is Java {version}: too old" in done.stderr
        assert ADVICE[0] in done.stderr

    @pytest.mark.parametrize("version", ["17", "17-ea", "17.0.15", "21.0.2", "25.0.3"])
    def test_new_enough(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", version)))
        assert run_script().returncode == 0

    def test_old_java_home_gives_way_to_path(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = fake_java(tmp_path / "old", "11.0.2")
        new = fake_java(tmp_path / "new", "17.0.15")
        monkeypatch.setenv("JAVA_HOME", str(old))
        monkeypatch.setenv("PATH", str(new / "bin"))
        done = run_script()
        assert done.stdout == f"{new}\n"
        assert f"{old}/bin/java (JAVA_HOME) is Java 11.0.2: too old" in done.stderr
        assert f"using Java 17.0.15 in {new}" in done.stderr
        assert run_script("--quiet").stderr == ""

    def test_old_first_on_path_gives_way_to_the_next(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = fake_java(tmp_path / "old", "11.0.2")
        new = fake_java(tmp_path / "new", "17.0.15")
        monkeypatch.setenv("PATH", f"{old / 'bin'}{os.pathsep}{new / 'bin'}")
        assert run_script().stdout == f"{new}\n"

    def test_java_home_without_java(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
        assert f"{tmp_path / 'gone'} (JAVA_HOME) holds no bin/java" in run_script().stderr

    @pytest.mark.parametrize("text", ["exit 1", "echo 'no version here'"])
    def test_java_that_does_not_run(self, hidden: Path, text: str) -> None:
        write_script(hidden / "java", text)
        done = run_script()
        assert done.returncode == 1
        assert f"{hidden / 'java'} (PATH) does not run" in done.stderr


class TestInstall:
    """Run in this process, so that being root can be played."""

    @pytest.fixture
    def apt(self, hidden: Path, tmp_path: Path) -> Callable[..., Path]:
        """Put a stand-in for apt on PATH that offers some versions; returns the log of its calls."""

        def install(*offers: int, update_fails: bool = False) -> Path:
            log = tmp_path / "apt.log"
            log.touch()
            lines = "\n".join(f"echo 'openjdk-{offer}-jre-headless - a runtime'" for offer in offers)
            write_script(hidden / "apt-cache", lines or ":")
            homes = {offer: fake_java(tmp_path / f"offer-{offer}", f"{offer}.0.1") for offer in offers}
            cases = "\n".join(
                f'*" install "*openjdk-{offer}-jre-headless) ln -s "{home}" "{tmp_path}/places/installed" ;;'
                for offer, home in homes.items()
            )
            (tmp_path / "places").mkdir()
            write_script(
                hidden / "apt-get",
                f"""PATH=/usr/bin:/bin
echo "$DEBIAN_FRONTEND: $*" >> "{log}"
echo chatter
case " $*" in
*" update") exit {100 if update_fails else 0} ;;
{cases}
*) exit 100 ;;
esac""",
            )
            return log

        return install

    @pytest.fixture
    def root(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def test_installs_17(
        self, root: None, apt: Callable[..., Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        log = apt(11, 17, 21)
        assert java.main(["--install"]) == 0
        out, err = capfd.readouterr()
        assert out == f"{tmp_path / 'offer-17'}\n"
        assert "chatter" in err
        update, install = log.read_text().splitlines()
        assert update.startswith("noninteractive: ")
        assert update.endswith(" update")
        assert " -y " in install
        assert install.endswith(" openjdk-17-jre-headless")

    def test_installs_the_newest_where_17_is_missing(
        self, root: None, apt: Callable[..., Path], tmp_path: Path
    ) -> None:
        log = apt(11, 21, 25)
        assert java.main(["--install"]) == 0
        assert log.read_text().splitlines()[1].endswith(" openjdk-25-jre-headless")

    def test_nothing_suitable_to_install(
        self, root: None, apt: Callable[..., Path], capfd: pytest.CaptureFixture[str]
    ) -> None:
        log = apt(8, 11)
        assert java.main(["--install"]) == 1
        out, err = capfd.readouterr()
        assert out == ""
        assert "apt-get offers no openjdk-*-jre-headless of version 17 or newer" in err
        assert ADVICE[1] in err
        assert len(log.read_text().splitlines()) == 1

    def test_apt_fails(self, root: None, apt: Callable[..., Path], capfd: pytest.CaptureFixture[str]) -> None:
        apt(update_fails=True)
        assert java.main(["--install"]) == 1
        err = capfd.readouterr().err
        assert "update failed with exit code 100" in err
        assert ADVICE[0] in err

    def test_a_failed_update_is_not_the_end(self, root: None, apt: Callable[..., Path]) -> None:
        apt(17, update_fails=True)
        assert java.main(["--install"]) == 0

    def test_finds_before_it_installs(self, root: None, apt: Callable[..., Path], tmp_path: Path) -> None:
        log = apt(17)
        fake_java(tmp_path / "places" / "present", "21.0.2")
        assert java.main(["--install"]) == 0
        assert log.read_text() == ""

    def test_not_unless_asked(self, root: None, apt: Callable[..., Path]) -> None:
        log = apt(17)
        assert java.main([]) == 1
        assert log.read_text() == ""

    def test_not_when_forbidden(
        self, root: None, apt: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = apt(17)
        monkeypatch.setenv(java.INSTALL_VARIABLE, "never")
        assert java.main(["--install"]) == 1
        assert log.read_text() == ""

    def test_not_without_root(self, apt: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        log = apt(17)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert java.main(["--install"]) == 1
        assert log.read_text() == ""

    def test_not_without_apt(self, root: None, hidden: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert java.main(["--install"]) == 1
        assert "installing" not in capfd.readouterr().err


class TestEnsureJava:
    def test_sets_java_home(self, hidden: Path, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "places" / "jdk", "17.0.15")
        java.ensure_java()
        assert os.environ["JAVA_HOME"] == str(home)

    def test_replaces_an_old_java_home(
        self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
        home = fake_java(tmp_path / "places" / "jdk", "17.0.15")
        java.ensure_java()
        assert os.environ["JAVA_HOME"] == str(home)

    def test_none_found(self, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
        with pytest.raises(JavaNotFound) as raised:
            java.ensure_java()
        assert "11.0.2: too old" in raised.value.detail
        assert all(line in raised.value.hint for line in ADVICE)
        # One wording, whoever says it.
        assert run_script().stderr == f"{raised.value}\n"


@pytest.mark.parametrize("target", ["java", "demo", "test"])
def test_make_stops_before_any_download(
    hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """In a bare copy of the setup files: were Java not checked first, making .venv would fail instead."""
    make = shutil.which("make", path="/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin")
    if make is None:
        pytest.skip("no make")
    copy = tmp_path / "copy"
    (copy / "src" / "watersmeet").mkdir(parents=True)
    (copy / "scripts").mkdir()
    for name in ("Makefile", "pyproject.toml", "src/watersmeet/java.py", "scripts/python.sh"):
        shutil.copy(ROOT / name, copy / name)
    (hidden / "sh").symlink_to("/bin/sh")
    # These tests may themselves run under make.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run(
        [make, target, f"PYTHON={sys.executable}", f"{java.INSTALL_VARIABLE}=never"],
        cwd=copy,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("no Java 17 or newer found")
    assert not (copy / ".venv").exists()
