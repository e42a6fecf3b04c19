"""What is run: keyed joins of a few shapes, with windows of four batches, one match per row and stream."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet_lab.keyed.workload import Workload

# Windows are full after as many batches; these warm up and are not measured.
WARM_BATCHES = 4


@dataclass(frozen=True)
class Shape:
    """A kind of join.

    Attributes:
        name: What it is called.
        streams: How many streams.
        payload: Bytes of payload per row.
        share: What part of the rows of a batch it takes, so that all shapes take about as long.
    """

    name: str
    streams: int
    payload: int = 40
    share: float = 1.0

    def workload(self, batches: int, batch_rows: int) -> Workload:
        """What is generated for it; a row meets one row of every other stream in its window, on average."""
        rows = round(batch_rows * self.share)
        base = Workload(streams=self.streams, payload=self.payload, batches=batches, batch_rows=rows)
        window_rows = WARM_BATCHES * base.stream_batch_rows
        return Workload(
            streams=self.streams,
            payload=self.payload,
            batches=batches,
            batch_rows=rows,
            keys=window_rows,
            window_s=window_rows / base.rate,
        )


SHAPES = (Shape("4 streams", 4), Shape("2 streams", 2), Shape("1 KB payload", 2, payload=1024, share=0.25))
