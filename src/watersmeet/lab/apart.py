"""Running something in a process of its own, so that no run inherits a warm machine from another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run_apart(module: str, spec: dict[str, Any]) -> dict[str, Any]:
    """What a module makes of a specification; it must hand its arguments to `answer`."""
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as folder:
        paths = [Path(folder) / name for name in ("spec.json", "answer.json", "log.txt")]
        asked, answered, log = paths
        asked.write_text(json.dumps(spec))
        with log.open("wb") as output:
            # What it writes goes with the folder, also when somebody ends it.
            status = subprocess.run(
                [sys.executable, "-m", module, str(asked), str(answered)],
                stdout=output,
                stderr=output,
                env={**os.environ, "TMPDIR": folder},
                check=False,
            ).returncode
        if status != 0 or not answered.exists():
            raise RuntimeError(f"{module} failed:\n{log.read_text(errors='replace')[-4000:]}")
        found: dict[str, Any] = json.loads(answered.read_text())
    return found


def answer(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Run in the process that was started for it."""
    asked, answered = sys.argv[1:]
    Path(answered).write_text(json.dumps(run(json.loads(Path(asked).read_text()))))
