"""What Spark is told before a program says anything: by a file, and by variables of the environment."""

from __future__ import annotations

import os
import re
import shlex
from itertools import pairwise
from pathlib import Path

_LINE = re.compile(r"\s*([^\s#=:][^\s=:]*)\s*[\s=:]\s*(.*?)\s*")
# What spark-submit calls settings.
_WORDS = {
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--total-executor-cores": "spark.cores.max",
    "--num-executors": "spark.executor.instances",
    "--executor-cores": "spark.executor.cores",
}
# "--conf=a=b" is what "--conf a=b" is.
_WITH_VALUE = re.compile(r"(--[^=]+)=(.+)", re.DOTALL)
# Where Java itself looks for options.
JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_TEMPORARY = re.compile(r"""-Djava\.io\.tmpdir=(["']?)(.+?)\1(?:\s|$)""")
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


def default_settings() -> dict[str, str]:
    """The settings of spark-defaults.conf, and those that PYSPARK_SUBMIT_ARGS has for spark-submit."""
    words = _words(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    return {**_from_file(words), **_from_words(words)}


def names_a_collector(settings: dict[str, str]) -> bool:
    """Whether Java is told which garbage collector to use: with two it does not start."""
    told = [settings.get("spark.driver.defaultJavaOptions", "")]
    told += [os.environ.get(name, "") for name in JAVA_VARIABLES]
    return any(_COLLECTOR.search(text) for text in told)


def socket_folder(settings: dict[str, str]) -> str:
    """Where the driver's Java makes sockets: in its temporary folder, unless it is told another."""
    if folder := settings.get("spark.python.unix.domain.socket.dir"):
        return folder
    told = [settings.get(f"spark.driver.{name}JavaOptions", "") for name in ("default", "extra")]
    told += [os.environ.get(name, "") for name in JAVA_VARIABLES]
    named = [found[2] for text in told for found in _TEMPORARY.finditer(text)]
    # The longest, since it is not known here which of them counts.
    return max(named, key=len, default="/tmp")  # noqa: S108


def without_collector(options: str) -> str:
    """Options of Java without the choice of a garbage collector.

    >>> without_collector("-Da=b -XX:+UseParallelGC")
    '-Da=b'
    """
    return " ".join(option for option in options.split() if not _COLLECTOR.fullmatch(option))


def conf_folder() -> Path:
    """Where Spark looks for files with settings."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf")


def _from_file(words: list[str]) -> dict[str, str]:
    # Another file stands in for it.
    named = [following for word, following in pairwise(words) if word == "--properties-file"]
    try:
        lines = Path(named[-1] if named else conf_folder() / "spark-defaults.conf").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = [_LINE.fullmatch(line) for line in lines]
    return {line[1]: line[2] for line in found if line is not None and line[2]}


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    parted = [(word, _WITH_VALUE.fullmatch(word)) for word in words]
    return [part for word, two in parted for part in ([word] if two is None else two.groups())]


def _from_words(words: list[str]) -> dict[str, str]:
    found = {}
    for word, following in pairwise(words):
        if word in ("--conf", "-c") and "=" in following:
            name, value = following.split("=", 1)
            found[name] = value
        elif word in _WORDS:
            found[_WORDS[word]] = following
    return found
