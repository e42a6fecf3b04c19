"""Progress as text and tables, the same in every command."""

from __future__ import annotations

from typing import Literal

from rich import box
from rich.table import Table

from watersmeet.terminal.progress import Progress


def streams_table(
    progress: Progress, *, no_time: str = "no time", time: str = "time", width: int | None = None
) -> Table:
    """One line per stream, and per operator whose results are joined further.

    Where the screen is narrow, what people miss least is left out first.
    """
    streams = progress.streams
    newest = f"newest {time}"
    # Widths that fit what will come, so that nothing moves sideways.
    columns = {
        "rows in": (9, [f"{stream.rows:,}" for stream in streams.values()]),
        no_time: (max(9, len(no_time)), [f"{stream.no_time:,}" for stream in streams.values()]),
        "too late": (8, [f"{stream.late:,}" for stream in streams.values()]),
        "live rows": (9, [f"{stream.live:,}" for stream in streams.values()]),
        "state": (7, [bytes_text(stream.state_bytes) for stream in streams.values()]),
        newest: (19, [stream.newest for stream in streams.values()]),
    }
    names = max(len("stream"), *map(len, streams))
    for least_missed in (no_time, newest, "too late", "live rows"):
        if width is not None and names + sum(least + 2 for least, _ in columns.values()) > width:
            del columns[least_missed]
    table = plain_table()
    table.add_column("stream", no_wrap=True, min_width=names)
    for heading, (least, _) in columns.items():
        where: Literal["left", "right"] = "left" if heading == newest else "right"
        table.add_column(heading, justify=where, no_wrap=True, min_width=least)
    for place, name in enumerate(streams):
        table.add_row(name, *(cells[place] for _, cells in columns.values()))
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
