"""Progress as text and tables, the same in every command."""

from __future__ import annotations

from rich import box
from rich.table import Table

from watersmeet.terminal.progress import Progress


def streams_table(progress: Progress, *, no_time: str = "no time", time: str = "time") -> Table:
    """One line per stream, and per operator whose results are joined further."""
    table = plain_table()
    table.add_column("stream")
    # Widths that fit what will come, so that nothing moves sideways.
    for heading, width in (
        ("rows in", 9),
        (no_time, 9),
        ("too late", 8),
        ("live rows", 9),
        ("state", 7),
    ):
        table.add_column(heading, justify="right", no_wrap=True, min_width=width)
    table.add_column(f"newest {time}", no_wrap=True, min_width=19)
    for name, stream in progress.streams.items():
        table.add_row(
            name,
            f"{stream.rows:,}",
            f"{stream.no_time:,}",
            f"{stream.late:,}",
            f"{stream.live:,}",
            bytes_text(stream.state_bytes),
            stream.newest,
        )
    return table


def plain_table() -> Table:
    """A table with a line under its heading and no other."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def watermark_text(progress: Progress) -> str:
    """Where the watermark is, and which stream keeps it there."""
    if not progress.watermark:
        return "no watermark yet"
    held = f", held back by {progress.held_by}" if progress.held_by else ""
    return f"watermark {progress.watermark}{held}"


def batch_line(progress: Progress) -> str:
    """A batch where there is no moving picture."""
    streams = progress.streams.values()
    live = sum(stream.live for stream in streams)
    state = bytes_text(sum(stream.state_bytes for stream in streams))
    late = sum(stream.late for stream in streams)
    done = f"{progress.rows / progress.expected_rows:>4.0%} " if progress.expected_rows else ""
    return (
        f"{done}{progress.rows:>10,} rows"
        f" {progress.results:>9,} results {live:>8,} live {state:>7} {late:>2,} too late"
        f"  {watermark_text(progress)}"
    )


def bytes_text(count: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> bytes_text(950), bytes_text(1_234_000)
    ('950 B', '1.2 MB')
    """
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
