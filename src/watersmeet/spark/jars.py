"""Jars from Maven Central, fetched once by the Ivy that comes with Spark, and checked.

Spark's setting ``spark.jars.packages`` always fetches what a package depends on as well, and fails where one
of those was never published, as with the connector to Kafka. Here exactly what is listed is fetched.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from watersmeet.errors import WatersmeetError
from watersmeet.java import ensure_java

_SECONDS = 300


class JarsMissing(WatersmeetError, RuntimeError):
    """Jars that are needed are not here and cannot be fetched."""


@dataclass(frozen=True)
class Jar:
    """A jar by its Maven coordinate, group:artifact:version, and the SHA-256 of its bytes."""

    coordinate: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of its file."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def cache_folder() -> Path:
    """Where fetched jars are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "watersmeet" / "jars"


def fetched(jars: Sequence[Jar], folder: Path) -> list[Path]:
    """The files of some jars; those that are not there yet are fetched.

    Args:
        jars: What is needed.
        folder: Where they are kept.

    Raises:
        JarsMissing: They cannot be fetched, or are not what they should be.
    """
    missing = [jar for jar in jars if not (folder / jar.file).exists()]
    if missing:
        with _scratch(folder) as scratch:
            _fetch(missing, scratch)
            for jar in missing:
                _check(jar, scratch / jar.file)
                # In one step: another process may fetch the same.
                (scratch / jar.file).replace(folder / jar.file)
    for jar in jars:
        _check(jar, folder / jar.file)
    return [folder / jar.file for jar in jars]


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(dir=folder)
    except OSError as error:
        raise JarsMissing(
            "there is no room for jars",
            f"{folder} cannot be written: {error.strerror or error}.",
            "set XDG_CACHE_HOME to a folder of your own, "
            "or name files of your own in the setting spark.jars.",
        ) from None
    with made as name:
        yield Path(name)


def _fetch(jars: Sequence[Jar], folder: Path) -> None:
    description = folder / "ivy.xml"
    description.write_text(_description(jars))
    ensure_java()
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    what = ["-ivy", description, "-cache", folder / "cache"]
    said = ""
    with contextlib.suppress(subprocess.TimeoutExpired):
        run = subprocess.run(
            [*map(str, [java, "-jar", _ivy(), *what, "-retrieve", folder / "[artifact]-[revision].[ext]"])],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = run.stdout
    if absent := [jar.coordinate for jar in jars if not (folder / jar.file).exists()]:
        raise JarsMissing(
            "jars cannot be fetched from Maven Central",
            f"missing are {', '.join(absent)}; the last that Ivy said was: {_last_line(said)}",
            f"fetch them where there is a network and put them into {folder.parent}, "
            "or name files of your own in the setting spark.jars.",
        )


def _description(jars: Sequence[Jar]) -> str:
    names = ("org", "name", "rev")
    lines = [
        "<dependency {} transitive='false' conf='default->master'/>".format(
            " ".join(f"{n}={quoteattr(v)}" for n, v in zip(names, jar.coordinate.split(":"), strict=True))
        )
        for jar in jars
    ]
    return (
        "<ivy-module version='2.0'><info organisation='watersmeet' module='jars'/>"
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _ivy() -> Path:
    import pyspark

    return next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))


def _check(jar: Jar, path: Path) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise JarsMissing(
            f"{jar.file} is not what it should be",
            f"its SHA-256 is {found}, expected was {jar.sha256}.",
            f"remove {path} and try again; if it comes back, do not use it.",
        )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if "not found" in line.lower() or "error" in line.lower()]
    return (said or lines or ["nothing"])[-1][:300]
