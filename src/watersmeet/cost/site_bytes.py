r"""How many bytes one-way joins send between two sites: what our kernels do, key by key.

`cost.semijoin` has the formulas of Tran & Lee 2010, which hold for keys that are all equally frequent, of
which one stream has a subset of the other's. Plans of real queries are chosen by what is sent. For that it
matters how often each key arrives on either side. Arrivals are taken to be independent of each other
(Poisson). For one key, with m heads and l rows of the window per second, a reach of T seconds and ticks of t:

    the window has the key                               1 - exp(-l T)
    a batch of heads has the key                         1 - exp(-m t)
    a row is asked for before it ends                    1 - exp(-m T)
    the key comes into the window, and leaves it         l exp(-l T) times per second

SM-S2 pulls a key once for as long as the window has it without a break. Gaps between its rows that are
shorter than T keep it there. With g = E[exp(-m gap); gap < T] = l / (l + m) (1 - exp(-(l + m) T)), no head
comes from when the key was first there until a row arrives with probability exp(-l T) / (1 - g), and none
until that row ends with probability exp(-(l + m) T) / (1 - g).

Differences to the paper: SM-D2 is answered with one bit per key; SM-S2 and SM-D1 tell only counts that have
changed, 12 bytes each; SM-S2 asks by numbers of 8 bytes; a row that was not asked for is tried against every
filter of SM-S1-B while it lives. Rows carry their time, and every table and packet has a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.bloom import ONE_FILTER, SLICE_FILTER

Floats = NDArray[np.float64]

# The time at which a row comes alive, and that at which a result ends that is kept.
TIME_BYTES = 8
# What frames take: an Arrow table, each of its columns, and a packet with its address and promise.
TABLE_BYTES = 192
COLUMN_BYTES = 98
PACKET_BYTES = 40
# A number of a key, and one with its count.
SERIAL_BYTES = 8
COUNT_BYTES = 12
# The exponential of more than this would soon not be a number any more.
_LARGE = 500.0


@dataclass(frozen=True, slots=True)
class Width:
    """What a row takes on its way: bytes of its values and time, and how many columns these are."""

    bytes: float
    columns: int


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent per second in one direction: rows, and bytes of all kinds."""

    rows: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.rows + other.rows, self.bytes + other.bytes)


NOTHING = Sent()


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the two sites of a one-way join send each other: from the heads to the window, and back."""

    there: Sent = NOTHING
    back: Sent = NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Heads look back into a window; arrays have one entry per group of keys that behave alike.

    Attributes:
        keys: How many keys there are in each group.
        heads: How often a key of the group comes with a head, per second.
        head_rows: How many heads it has, per second; results of earlier joins come several at a time.
        rows: How often it comes into the window, per second.
        window_rows: How many rows it brings there, per second.
        reach: How long rows of the window live, seconds.
        tick: How often batches are processed, seconds.
        head: The width of a head.
        row: The width of a row of the window.
        key: The width of a key.
        counted: Whether times of all rows of the window must be known, since their number limits it.
    """

    keys: Floats
    heads: Floats
    head_rows: Floats
    rows: Floats
    window_rows: Floats
    reach: float
    tick: float
    head: Width
    row: Width
    key: Width
    counted: bool = False

    @property
    def kept(self) -> float:
        """How long a window has a row, seconds: until the batch after its end."""
        return self.reach + self.tick

    @property
    def told(self) -> float:
        """How long the other side believes it has: that a row is gone is told with the next change."""
        return self.reach + 1.5 * self.tick

    def present(self, reach: float) -> Floats:
        """How likely a window that has rows for so long has a key."""
        return np.asarray(-np.expm1(-self.rows * reach))

    @property
    def asked(self) -> float:
        """Keys asked for per second: each once in a batch."""
        return self.total(-np.expm1(-self.heads * self.tick)) / self.tick

    def total(self, per_key: Floats) -> float:
        """The sum over all keys."""
        return float((self.keys * per_key).sum())

    def table(self, entries: float, width: Width) -> float:
        """Bytes per second of entries in one table per batch; a batch without any has no table."""
        tables = -np.expm1(-entries * self.tick) / self.tick
        return float(entries * width.bytes + tables * (TABLE_BYTES + COLUMN_BYTES * width.columns))

    def sent(self, rows: float, width: Width, *more: float) -> Sent:
        """Rows, beside bytes of other kinds, with the packets of every tick."""
        return Sent(rows, self.table(rows, width) + sum(more) + PACKET_BYTES / self.tick)

    def only(self, *tables: float) -> Sent:
        """Bytes without any row."""
        return Sent(0.0, sum(tables) + PACKET_BYTES / self.tick)

    @property
    def times(self) -> float:
        """Times of all rows of the window, where they are sent."""
        return self.table(self.total(self.window_rows), Width(TIME_BYTES, 1)) if self.counted else 0.0


def _sp_s(meeting: Meeting) -> Exchange:
    return Exchange(back=meeting.sent(meeting.total(meeting.window_rows), meeting.row, meeting.times))


def _sp_d(meeting: Meeting) -> Exchange:
    return Exchange(meeting.sent(meeting.total(meeting.head_rows), meeting.head))


def _sm_s1(meeting: Meeting) -> Exchange:
    met = -np.expm1(-meeting.heads * meeting.kept)
    rows = meeting.total(meeting.window_rows * met)
    return Exchange(
        meeting.only(meeting.table(meeting.asked, meeting.key)),
        meeting.sent(rows, meeting.row, meeting.times),
    )


def _sm_s1_bloom(meeting: Meeting) -> Exchange:
    met = -np.expm1(-meeting.heads * meeting.kept)
    met = ONE_FILTER.passing(met, meeting.reach / meeting.tick)
    rows = meeting.total(meeting.window_rows * met)
    return Exchange(
        meeting.only(meeting.table(meeting.asked, Width(ONE_FILTER.bytes, 1))),
        meeting.sent(rows, meeting.row, meeting.times),
    )


def _sm_s2(meeting: Meeting) -> Exchange:
    reach = meeting.told
    both = meeting.rows + meeting.heads
    alone = np.exp(-meeting.rows * reach)
    # The same as exp(-l T) / (1 - g), in a form in which nothing becomes zero that must not.
    kept = np.exp(np.minimum(meeting.rows * reach, _LARGE))
    below = meeting.heads * kept + meeting.rows * np.exp(-meeting.heads * reach)
    unpulled = np.divide(both, below, out=np.ones_like(both), where=below > 0)
    never = unpulled * np.exp(-meeting.heads * reach)
    new = meeting.rows * alone
    # Counts change when a row comes to a key that was pulled, and when one of its rows goes.
    changed = meeting.rows * ((1 - unpulled) + (1 - never))
    changed = -np.expm1(-changed * meeting.tick) / meeting.tick
    counts = meeting.total(changed + new * never)
    # Rows of keys that were pulled follow with the changes, those that are pulled come as answers.
    following = meeting.total(meeting.window_rows * (1 - unpulled))
    pulled = meeting.total(meeting.window_rows * (unpulled - never))
    changes = meeting.sent(
        following,
        meeting.row,
        meeting.table(meeting.total(new), meeting.key),
        meeting.table(counts, Width(COUNT_BYTES, 2)),
        meeting.times,
    )
    asked = meeting.table(meeting.total(new * (1 - never)), Width(SERIAL_BYTES, 1))
    return Exchange(
        meeting.only(asked, PACKET_BYTES / meeting.tick), changes + meeting.sent(pulled, meeting.row)
    )


def _sm_d1(meeting: Meeting) -> Exchange:
    new = meeting.total(meeting.rows * np.exp(-meeting.rows * meeting.told))
    return Exchange(
        meeting.sent(meeting.total(meeting.head_rows * meeting.present(meeting.told)), meeting.head),
        meeting.only(meeting.table(new, meeting.key), meeting.table(new, Width(COUNT_BYTES, 2))),
    )


def _sm_d1_bloom(meeting: Meeting) -> Exchange:
    keys = meeting.total(-np.expm1(-meeting.rows * meeting.tick)) / meeting.tick
    met = SLICE_FILTER.passing(meeting.present(meeting.told), meeting.told / meeting.tick)
    return Exchange(
        meeting.sent(meeting.total(meeting.head_rows * met), meeting.head),
        meeting.only(meeting.table(keys, Width(SLICE_FILTER.bytes, 1))),
    )


def _sm_d2(meeting: Meeting) -> Exchange:
    rows = meeting.total(meeting.head_rows * meeting.present(meeting.kept))
    asked = meeting.table(meeting.asked, meeting.key) + PACKET_BYTES / meeting.tick
    return Exchange(
        meeting.sent(rows, meeting.head, asked), meeting.only(meeting.table(meeting.asked, Width(1 / 8, 1)))
    )


def _sm_d2_bloom(meeting: Meeting) -> Exchange:
    asking = -np.expm1(-meeting.heads * meeting.tick)
    # The answer has the keys of all rows that pass the filter of the question.
    present = meeting.present(meeting.kept)
    known = meeting.total(present * ONE_FILTER.passing(asking)) / meeting.tick
    rows = meeting.total(meeting.head_rows * ONE_FILTER.passing(present))
    asked = meeting.table(meeting.asked, Width(ONE_FILTER.bytes, 1)) + PACKET_BYTES / meeting.tick
    return Exchange(
        meeting.sent(rows, meeting.head, asked),
        meeting.only(meeting.table(known, Width(ONE_FILTER.bytes, 1))),
    )


_EXCHANGES: Mapping[Algorithm, Callable[[Meeting], Exchange]] = {
    Algorithm.SP_S: _sp_s,
    Algorithm.SP_D: _sp_d,
    Algorithm.SM_S1: _sm_s1,
    Algorithm.SM_S2: _sm_s2,
    Algorithm.SM_D1: _sm_d1,
    Algorithm.SM_D2: _sm_d2,
    Algorithm.SM_S1_BLOOM: _sm_s1_bloom,
    Algorithm.SM_D1_BLOOM: _sm_d1_bloom,
    Algorithm.SM_D2_BLOOM: _sm_d2_bloom,
}


def exchange(algorithm: Algorithm, meeting: Meeting) -> Exchange:
    """What an algorithm sends.

    >>> def even(*values: float) -> Floats:
    ...     return np.array(values)
    >>> # Of 100 keys on either side 2 are the same; a key comes once in ten seconds and lives for 100.
    >>> keys, heads, rows = even(2, 98, 98), even(0.1, 0.1, 0), even(0.1, 0, 0.1)
    >>> kilobyte = Width(1000, 3)
    >>> meeting = Meeting(keys, heads, heads, rows, rows, 100, 10, kilobyte, kilobyte, Width(8, 1))
    >>> round(exchange(Algorithm.SP_D, meeting).there.rows, 3)
    10.0
    >>> round(exchange(Algorithm.SM_D2, meeting).there.rows, 3)
    0.2
    """
    return _EXCHANGES[algorithm](meeting)


def shipped(rows: float, width: Width, tick: float, packets: float = 1.0) -> Sent:
    """What it takes to send rows on as they come, in so many packets per tick."""
    tables = -np.expm1(-rows * tick / packets) * packets / tick
    frames = tables * (TABLE_BYTES + COLUMN_BYTES * width.columns) + packets * PACKET_BYTES / tick
    return Sent(rows, float(rows * width.bytes + frames))
