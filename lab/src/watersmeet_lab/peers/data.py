"""The data of rows on disk: files of one batch each, and one file with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from watersmeet_lab.files import write_batch
from watersmeet_lab.keyed.workload import Workload, generate
from watersmeet_lab.peers.nexmark import Nexmark
from watersmeet_lab.peers.rows import WINDOW_S

BATCHES = 8
# Rows of a stream in a second of event time: one in a millisecond, and no two at the same.
_RATE = 1000
# Rows of a batch at scale 1, of all streams; of Nexmark, groups of 50 events.
_KEYED, _TOPICS, _NEXMARK, _PEOPLE = 200_000, 100_000, 3_000, 30_000


@dataclass(frozen=True)
class Data:
    """Where the rows are.

    Attributes:
        root: The folder of all streams.
        counts: Rows of each stream.
        servers: Of Kafka; empty where rows are files.
        jars: What Spark needs to read from them.
    """

    root: str
    counts: dict[str, int]
    servers: str = ""
    jars: str = ""

    @property
    def rows(self) -> int:
        """Rows of all streams."""
        return sum(self.counts.values())

    def batches(self, stream: str) -> str:
        """The folder with a file of each batch, which Spark takes one by one."""
        return str(Path(self.root) / "batches" / stream)

    def whole(self, stream: str) -> str:
        """The folder with one file of all rows: Flink does not keep the order of several files."""
        return str(Path(self.root) / "whole" / stream)

    def records(self, stream: str) -> str:
        """The file with the records of a topic, one in a line."""
        return str(Path(self.root) / "records" / f"{stream}.json")

    def batch_rows(self, stream: str) -> int:
        """Rows of a stream in a batch."""
        return -(-self.counts[stream] // BATCHES)


def written(kind: str, root: Path, scale: float) -> Data:
    """Write the rows of a kind."""
    if kind in ("keyed", "topics"):
        streams, rows = (4, _KEYED) if kind == "keyed" else (3, _TOPICS)
        each = max(1, round(rows * scale) // streams)
        workload = Workload(
            streams=streams,
            batches=BATCHES,
            batch_rows=each * streams,
            # As many as rows in a window, so that a row has about one partner in each.
            keys=min(WINDOW_S * _RATE, each * BATCHES),
            rate=_RATE,
            window_s=WINDOW_S,
        )
        generate(workload, root / "batches")
        names: tuple[str, ...] = tuple(f"s{i}" for i in range(streams))
    else:
        with_bids = kind == "nexmark"
        groups = max(1, round((_NEXMARK if with_bids else _PEOPLE) * scale))
        # A batch is so many seconds: windows are of ten, and fill in the first batches.
        nexmark = Nexmark(BATCHES, groups, max(1, groups // 6), bids=with_bids)
        names = nexmark.streams
        for name in names:
            for number, table in enumerate(nexmark.tables(name)):
                write_batch(table, root / "batches" / name, number, compression="lz4")
    data = Data(str(root), {})
    for name in names:
        data.counts[name] = _in_one_file(Path(data.batches(name)), Path(data.whole(name)))
    return data


def _in_one_file(batches: Path, whole: Path) -> int:
    """All files of a folder as one, in a compression that Flink reads; returns how many rows."""
    whole.mkdir(parents=True)
    rows = 0
    writer: pq.ParquetWriter | None = None
    for file in sorted(batches.iterdir()):
        table = pq.read_table(file)
        writer = writer or pq.ParquetWriter(whole / "all.parquet", table.schema, compression="snappy")
        writer.write_table(table)
        rows += len(table)
    if writer is not None:
        writer.close()
    return rows
