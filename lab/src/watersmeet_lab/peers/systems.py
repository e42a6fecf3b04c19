"""The systems, in the order in which they run, and one run of a row in a process of its own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from watersmeet_lab.apart import TookTooLong, answer, run_apart
from watersmeet_lab.peers.data import Data
from watersmeet_lab.peers.flink import flink, flink_rocksdb
from watersmeet_lab.peers.limit import duckdb
from watersmeet_lab.peers.on_spark import chain, chain_rocksdb, ours
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.rows import ROWS, Row

_ERROR = re.compile(r"(Caused by: |: )?[\w.$]+(Error|Exception): ")
SYSTEMS: dict[str, Callable[[Row, Data, int, Path], Outcome]] = {
    "ours": ours,
    "chain": chain,
    "chain-rocksdb": chain_rocksdb,
    "flink": flink,
    "flink-rocksdb": flink_rocksdb,
    "duckdb": duckdb,
}


def measured(system: str, row: Row, data: Data, cores: int, limit: float) -> Outcome | str:
    """Run a row on a system; where that fails, why."""
    spec = {"system": system, "row": row.name, "data": asdict(data), "cores": cores}
    try:
        return _outcome(run_apart(__name__, spec, seconds=limit))
    except TookTooLong:
        return f"not done after {limit:.0f} s"
    except RuntimeError as error:
        return _reason(str(error))


def _reason(log: str) -> str:
    """The line of a log that most likely says what went wrong."""
    lines = [line for line in map(str.strip, log.splitlines()) if line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines)[-1].removeprefix("Caused by: ")[:300]


def _outcome(values: dict[str, Any]) -> Outcome:
    reached = [(seconds, rows) for seconds, rows in values["reached"]]
    return Outcome(values["results"], values["seconds"], reached)


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    row = next(one for one in ROWS if one.name == spec["row"])
    with tempfile.TemporaryDirectory(prefix="watersmeet-bench-") as scratch:
        found = SYSTEMS[spec["system"]](row, Data(**spec["data"]), spec["cores"], Path(scratch))
    return asdict(found)


if __name__ == "__main__":
    answer(_run)
