"""Java's archive of classes: with one, Spark starts some seconds sooner.

Java can write the classes it has loaded, checked and laid out for use, to a file when it ends, and map that
file when it starts (class data sharing). The first session on a machine leaves the archive behind; later ones
use it. It fits one Java and one Spark: Java itself looks whether it does, and goes without it if not.

    first session     -XX:ArchiveClassesAtExit=<draft>      written when it ends, in some seconds, 180 MB
    later sessions    -XX:SharedArchiveFile=<archive>       a draft that is whole has become the archive

What is in the archive is run, so it lies in a folder that nobody else can enter.

Java does not start at all where it is to leave an archive and cannot, because it comes without the archive of
its own classes, or was told to do without or to use another. So it is asked before. Where a
folder with files is among the places of classes it leaves none, and says at its end that it failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from watersmeet.errors import WatersmeetError
from watersmeet.spark.defaults import JAVA_VARIABLES, conf_folder
from watersmeet.spark.private import believed, private_folder

# Says "no" to the archive: neither written nor used.
VARIABLE = "WATERSMEET_CLASS_ARCHIVE"
# Java writes this number at the beginning of a file last of all, in the order of the machine.
_WHOLE = 0xF00BABA8
_ROOM_BYTES = 1 << 30
# Java says on standard output which classes it leaves out.
_QUIET = "-Xlog:cds=off,cds+dynamic=off"
# Others mean something to Java, which lists archives with colons, or to Spark, which parts options.
_PLAIN = re.compile(r"[\w./@+=,~-]+", re.ASCII)
_OWN_CHOICE = re.compile(r"-Xshare:|SharedArchive|ArchiveClassesAtExit|AOT")
# Java writes an archive in seconds.
_OLD_S = 3600
_DEFAULTS = "spark.driver.defaultJavaOptions"


def archive_options(home: Path | None = None, given: Mapping[str, str] | None = None) -> list[str]:
    """Options of Java that use the archive, or leave one behind; none where that cannot be done.

    Args:
        home: The folder for archives; None takes the user's cache.
        given: What Spark is told, as far as it is known.
    """
    if os.environ.get(VARIABLE, "").lower() in ("no", "0", "false", "off"):
        return []
    given = given or {}
    java = _java()
    folder = home or _cache()
    if java is None or folder is None or not _PLAIN.fullmatch(str(folder)) or _chooses(given):
        return []
    try:
        archive = private_folder(folder) / f"{_fits(java)}.jsa"
        _adopt(archive)
        if believed(archive):
            return [f"-XX:SharedArchiveFile={archive}", _QUIET]
        if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < _ROOM_BYTES:
            return []
        if any(map(_has_files, _folders_of_classes(given))) or not _has_its_own(java, given):
            return []
    except (OSError, ValueError, subprocess.SubprocessError, WatersmeetError):
        return []
    draft = archive.with_suffix(f".{uuid.uuid4().hex[:8]}.draft")
    return [f"-XX:ArchiveClassesAtExit={draft}", _QUIET]


def _cache() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "watersmeet" / "classes"
    except RuntimeError:
        # A user without a home, as in some containers.
        return None


def _chooses(given: Mapping[str, str]) -> bool:
    """Whether Java is told which archive to use, or to use none."""
    told = [given.get(_DEFAULTS, ""), *(os.environ.get(name, "") for name in JAVA_VARIABLES)]
    return any(_OWN_CHOICE.search(text) for text in told)


def _folders_of_classes(given: Mapping[str, str]) -> list[Path]:
    """Where Java may look for classes beside Spark's jars."""
    lists = [given.get("spark.driver.extraClassPath", ""), os.environ.get("SPARK_DIST_CLASSPATH", "")]
    named = os.pathsep.join(lists).split(os.pathsep)
    named += [os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    return [conf_folder(), *(Path(name) for name in named if name)]


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _has_its_own(java: Path, given: Mapping[str, str]) -> bool:
    """Whether Java runs with the archive of its own classes, as it says itself."""
    memory = given.get("spark.driver.memory") or os.environ.get("SPARK_DRIVER_MEMORY")
    options = [*shlex.split(given.get(_DEFAULTS, "")), *([f"-Xmx{memory}"] if memory else [])]
    said = subprocess.run(
        [java, *options, "-version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=True,
    )
    return ", sharing" in said.stderr + said.stdout


def _java() -> Path | None:
    """The program that Spark will start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return None if found is None else Path(found).resolve()


def _fits(java: Path) -> str:
    """A name for what belongs together: a Java, and a Spark."""
    import pyspark

    spark = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent).resolve()
    status = java.stat()
    said = [str(java), str(status.st_size), str(status.st_mtime_ns), str(spark), pyspark.__version__]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def _adopt(archive: Path) -> None:
    """Make the first draft that is whole the archive; further ones, and those of sessions that died, go."""
    for draft in sorted(archive.parent.glob(f"{archive.stem}.*.draft")):
        with contextlib.suppress(OSError):
            with draft.open("rb") as file:
                whole = int.from_bytes(file.read(4), "little") == _WHOLE
            if whole and believed(draft) and not archive.exists():
                draft.rename(archive)
            elif whole or time.time() - draft.stat().st_mtime > _OLD_S:
                draft.unlink()
