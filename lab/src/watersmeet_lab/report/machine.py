"""On what something was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import watersmeet


def machine() -> dict[str, str]:
    """The machine and what runs on it, in words; nothing that tells whose it is."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "spark": version("pyspark"),
        "commit": _commit(),
        "day": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 1e9:.0f} GB"


def _commit() -> str:
    """The commit that is checked out, and whether the program was changed since, its output left out."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return commit + (" with changes" if _git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "not known"


def _git(*arguments: str) -> str:
    package = Path(watersmeet.__file__).parent
    done = subprocess.run(["git", *arguments], cwd=package, capture_output=True, text=True, check=True)
    return done.stdout.strip()
