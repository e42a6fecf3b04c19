"""What Spark is told before a program says anything: by a file, and by variables of the environment."""

from __future__ import annotations

import os
import re
import shlex
from itertools import pairwise
from pathlib import Path

_LINE = re.compile(r"\s*([^\s#=:][^\s=:]*)\s*[\s=:]\s*(.*?)\s*")
# What spark-submit calls settings.
_WORDS = {"--master": "spark.master", "--driver-java-options": "spark.driver.extraJavaOptions"}
# Where Java itself looks for options.
_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


def default_settings() -> dict[str, str]:
    """The settings of spark-defaults.conf, and those that PYSPARK_SUBMIT_ARGS has for spark-submit."""
    return {**_from_file(), **_from_words(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))}


def names_a_collector(settings: dict[str, str]) -> bool:
    """Whether Java is told which garbage collector to use: with two it does not start."""
    told = [settings.get("spark.driver.defaultJavaOptions", "")]
    told += [os.environ.get(name, "") for name in _JAVA_VARIABLES]
    return any(_COLLECTOR.search(text) for text in told)


def without_collector(options: str) -> str:
    """Options of Java without the choice of a garbage collector.

    >>> without_collector("-Da=b -XX:+UseParallelGC")
    '-Da=b'
    """
    return " ".join(option for option in options.split() if not _COLLECTOR.fullmatch(option))


def _from_file() -> dict[str, str]:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    folder = os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf"
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = [_LINE.fullmatch(line) for line in lines]
    return {line[1]: line[2] for line in found if line is not None and line[2]}


def _from_words(text: str) -> dict[str, str]:
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    found = {}
    for word, following in pairwise(words):
        if word == "--conf" and "=" in following:
            name, value = following.split("=", 1)
            found[name] = value
        elif word in _WORDS:
            found[_WORDS[word]] = following
    return found
