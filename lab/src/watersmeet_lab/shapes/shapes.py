"""The twelve shapes: what they join, and how much of it comes in a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

# A window is as long as so many batches.
WINDOW_BATCHES = 4
# Batches before this one fill the windows and warm up Java; they are not measured.
FIRST_MEASURED = 2


@dataclass(frozen=True)
class Shape:
    """A join; what is left out is as in most shapes.

    Attributes:
        name: What it is called.
        streams: How many streams.
        payload: Bytes of payload per row.
        batch_rows: Rows per batch, all streams together.
        batches: How many batches.
        match: Which part of the rows has partners: about one row in the window of every other stream.
        text_keys: Whether keys are text.
        condition: "key" is one key that all share; "band" has, beside the key, each row follow one of the
            stream before within a window; "graph" has a key of its own between any two of three streams.
        topics: Whether rows are JSON in topics of Kafka instead of Parquet files.
    """

    name: str
    streams: int = 3
    payload: int = 40
    batch_rows: int = 240_000
    batches: int = 12
    match: float = 1.0
    text_keys: bool = False
    condition: str = "key"
    topics: bool = False

    @property
    def stream_batch_rows(self) -> int:
        """Rows of one stream in a batch; a batch is a second of event time."""
        return self.batch_rows // self.streams

    @property
    def window_rows(self) -> int:
        """Rows of one stream in a window."""
        return WINDOW_BATCHES * self.stream_batch_rows

    @property
    def key_type(self) -> str:
        """Spark's type of the keys."""
        return "STRING" if self.text_keys else "BIGINT"

    def key_columns(self, stream: int) -> tuple[str, ...]:
        """The keys a stream has."""
        return (("x", "z"), ("x", "y"), ("y", "z"))[stream] if self.condition == "graph" else ("key",)

    def schema(self, stream: int) -> str:
        """The columns of a stream, as Spark reads them."""
        keys = [f"{name} {self.key_type}" for name in self.key_columns(stream)]
        return ", ".join([*keys, "ts TIMESTAMP", "payload STRING"])

    def equalities(self) -> list[tuple[int, str, int, str]]:
        """Which columns of which streams are equal: a stream, its column, a later stream, its column."""
        if self.condition == "graph":
            return [(0, "x", 1, "x"), (1, "y", 2, "y"), (0, "z", 2, "z")]
        return [(0, "key", i, "key") for i in range(1, self.streams)]

    def with_tiny_batches(self) -> Shape:
        """The same join with ten rows in a batch: what is left is what a batch costs by itself."""
        return replace(self, batch_rows=10)


SHAPES = (
    Shape("2 streams", streams=2),
    Shape("3 streams"),
    Shape("4 streams", streams=4),
    Shape("6 streams", streams=6),
    Shape("band", condition="band"),
    Shape("graph of three keys", condition="graph"),
    Shape("1 KB payload", payload=1024, batch_rows=60_000),
    Shape("1 KB, 1 % match", payload=1024, batch_rows=60_000, match=0.01),
    Shape("text keys", text_keys=True),
    Shape("batches of 5,000 rows", batch_rows=5_000, batches=24),
    Shape("low match", match=0.01),
    Shape("three topics of JSON", batch_rows=150_000, topics=True),
)
