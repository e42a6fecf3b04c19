"""Java's archive of classes: with one, Spark starts some seconds sooner.

Java can write the classes it has loaded, checked and laid out for use, to a file when it ends, and map that
file when it starts (class data sharing). The first session on a machine leaves the archive behind; later ones
use it. It fits one Java and one Spark: Java itself looks whether it does, and goes without it if not.

    first session     -XX:ArchiveClassesAtExit=<draft>      written when it ends, in some seconds, 180 MB
    later sessions    -XX:SharedArchiveFile=<archive>       a draft that is whole has become the archive

What is in the archive is run, so it lies in a folder that nobody else can enter.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from pathlib import Path

from watersmeet.errors import WatersmeetError
from watersmeet.spark.private import believed, private_folder

# Says "no" to the archive: neither written nor used.
VARIABLE = "WATERSMEET_CLASS_ARCHIVE"
# Java writes this number at the beginning of a file last of all, in the order of the machine.
_WHOLE = 0xF00BABA8
_ROOM_BYTES = 1 << 30
# Java says on standard output which classes it leaves out.
_QUIET = "-Xlog:cds=off,cds+dynamic=off"


def archive_options(home: Path | None = None) -> list[str]:
    """Options of Java that use the archive, or leave one behind; none where that cannot be done.

    Args:
        home: The folder for archives; None takes the user's cache.
    """
    if os.environ.get(VARIABLE, "").lower() in ("no", "0", "false", "off"):
        return []
    java = _java()
    folder = home or _cache()
    if java is None or any(sign.isspace() for sign in str(folder)):
        return []
    try:
        archive = private_folder(folder) / f"{_fits(java)}.jsa"
        if not archive.exists():
            _adopt(archive)
        if believed(archive):
            return [f"-XX:SharedArchiveFile={archive}", _QUIET]
        if shutil.disk_usage(folder).free < _ROOM_BYTES:
            return []
    except (OSError, WatersmeetError):
        return []
    draft = archive.with_suffix(f".{uuid.uuid4().hex[:8]}.draft")
    return [f"-XX:ArchiveClassesAtExit={draft}", _QUIET]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "watersmeet" / "classes"


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
    """Make the first draft that is whole the archive."""
    for draft in sorted(archive.parent.glob(f"{archive.stem}.*.draft")):
        with contextlib.suppress(OSError):
            with draft.open("rb") as file:
                whole = int.from_bytes(file.read(4), "little") == _WHOLE
            if whole and believed(draft):
                draft.rename(archive)
                return
