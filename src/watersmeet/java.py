"""Find a Java that Spark can run on.

Used in two ways: imported by the command line, and run as a plain file by the Makefile before
anything is installed. So: standard library only, and nothing of the package at import time.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

MINIMUM = 17

FACT = f"no Java {MINIMUM} or newer found, and Spark needs one"
HINT = f"""\
install one and run the same command again.
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
                   (openjdk-21-jre-headless where 17 is missing)
  macOS:           brew install openjdk@17
  conda:           conda install -c conda-forge openjdk=17
  If a Java {MINIMUM} or newer is on this machine already, set JAVA_HOME to its folder."""

# Set to "never" to keep --install from installing anything.
INSTALL_VARIABLE = "WATERSMEET_JAVA_INSTALL"
# Replaces the usual places: patterns of Java homes, separated like PATH. The tests hide Java with it.
PLACES_VARIABLE = "WATERSMEET_JAVA_PLACES"

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/lib64/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    # The two folders that /usr/libexec/java_home on macOS lists.
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    # Homebrew keeps openjdk off PATH.
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/home/linuxbrew/.linuxbrew/opt/openjdk*/libexec",
)


@dataclass(frozen=True)
class Java:
    """A Java that runs: its home folder, its version as it prints it, and where it was found."""

    home: str
    version: str
    source: str

    @property
    def major(self) -> int:
        """17 for "17.0.15" and 8 for "1.8.0_392"."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def ensure_java() -> None:
    """Point JAVA_HOME at Java 17 or newer.

    Raises:
        watersmeet.errors.JavaNotFound: there is none; the error says what to install.
    """
    java, passed_over = find_java()
    if java is None:
        from watersmeet.errors import JavaNotFound

        raise JavaNotFound(FACT, _detail(passed_over), HINT)
    # Spark trusts JAVA_HOME before PATH, so an old or broken one there must not stay.
    os.environ["JAVA_HOME"] = java.home


def find_java() -> tuple[Java | None, list[str]]:
    """Return the Java to use, if any, and one line for each Java that had to be passed over."""
    passed_over: list[str] = []
    seen: set[str] = set()

    def usable(source: str, executable: str) -> Java | None:
        real = os.path.realpath(executable)
        if real in seen:
            return None
        seen.add(real)
        java = _probe(source, executable)
        if java is None:
            passed_over.append(f"{executable} ({source}) does not run")
        elif java.major < MINIMUM:
            passed_over.append(f"{executable} ({source}) is Java {java.version}: too old")
        else:
            return java
        return None

    home = os.environ.get("JAVA_HOME")
    if home:
        executable = _executable(home)
        if executable is None:
            passed_over.append(f"{home} (JAVA_HOME) holds no bin/java")
        elif java := usable("JAVA_HOME", executable):
            # Keep the user's own spelling: it may be a link that is meant to move.
            return Java(home, java.version, java.source), passed_over

    for folder in os.environ.get("PATH", "").split(os.pathsep):
        on_path = shutil.which("java", path=folder) if folder else None
        if on_path and (java := usable("PATH", on_path)):
            return java, passed_over

    found = [
        java
        for place in _usual_places()
        if (executable := _executable(place)) and (java := usable("usual place", executable))
    ]
    # Of several, the oldest that will do: the closest to what Spark is built with.
    return min(found, key=lambda java: java.major, default=None), passed_over


def _usual_places() -> list[str]:
    patterns = list(USUAL_PLACES)
    # A conda Python that was not activated has no CONDA_PREFIX, but knows its own folder.
    for conda in filter(None, [os.environ.get("CONDA_PREFIX"), sys.base_prefix]):
        patterns += [os.path.join(conda, "lib", "jvm"), conda]
    if PLACES_VARIABLE in os.environ:
        patterns = os.environ[PLACES_VARIABLE].split(os.pathsep)
    return [place for pattern in patterns for place in sorted(glob.glob(os.path.expanduser(pattern)))]


def _executable(home: str) -> str | None:
    return shutil.which("java", path=os.path.join(home, "bin"))


def _probe(source: str, executable: str) -> Java | None:
    """Run a Java for its version and home; None if it fails, as the placeholder on macOS does."""
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d[^"]*)"', answer)
    if version is None:
        return None
    # Ask Java for its home: on PATH it may be a wrapper script, so links do not always lead there.
    told = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    home = told.group(1).strip() if told else ""
    if not home or _executable(home) is None:
        home = os.path.dirname(os.path.dirname(os.path.realpath(executable)))
    return Java(home, version.group(1), source)


def _detail(passed_over: Sequence[str]) -> str:
    return "\n  ".join(["looked at JAVA_HOME, PATH and the usual folders.", *passed_over])


def _may_install() -> bool:
    return (
        os.environ.get(INSTALL_VARIABLE) != "never"
        and shutil.which("apt-get") is not None
        and os.geteuid() == 0
    )


def _install() -> str | None:
    """Install a Java with apt-get; returns what went wrong, if anything did."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}

    def apt_get(*arguments: str) -> str | None:
        # Another apt may be at work on a machine that has just booted: wait for it.
        command = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120", *arguments]
        # Standard output is for the answer, JAVA_HOME, alone.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, check=False
        )
        return f"{' '.join(command)} failed with exit code {done.returncode}" if done.returncode else None

    # Carry on if this fails: one unreachable source of many is a failure too.
    stale = apt_get("update")
    listing = subprocess.run(
        ["apt-cache", "search", "--names-only", "^openjdk-[0-9]+-jre-headless$"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout
    majors = {int(major) for major in re.findall(r"^openjdk-(\d+)-jre-headless\b", listing, re.MULTILINE)}
    suitable = sorted(major for major in majors if major >= MINIMUM)
    if not suitable:
        return stale or f"apt-get offers no openjdk-*-jre-headless of version {MINIMUM} or newer"
    major = MINIMUM if MINIMUM in suitable else suitable[-1]
    return apt_get("install", "--no-install-recommends", f"openjdk-{major}-jre-headless")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the JAVA_HOME to use; everything else goes to standard error."""
    parser = argparse.ArgumentParser(description=f"Print the home of a Java {MINIMUM} or newer.")
    parser.add_argument(
        "--install",
        action="store_true",
        help=f"install one if none is found, as root on Debian or Ubuntu, unless {INSTALL_VARIABLE}=never",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing of a Java passed over")
    options = parser.parse_args(arguments)

    java, passed_over = find_java()
    failure = None
    if java is None and options.install and _may_install():
        print(f"{FACT}: installing it with apt-get.", file=sys.stderr, flush=True)
        failure = _install()
        java, passed_over = find_java()
    if java is None:
        detail = _detail([*passed_over, failure] if failure else passed_over)
        # The same words as JavaNotFound, which cannot be imported here.
        print(f"{FACT}\ndetail: {detail}\nhint: {HINT}", file=sys.stderr)
        return 1
    if passed_over and not options.quiet:
        print("\n".join([*passed_over, f"using Java {java.version} in {java.home}"]), file=sys.stderr)
    print(java.home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
