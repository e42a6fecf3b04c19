"""The multi-way join: rows of a batch arrive input by input, results leave once each.

Rows of an input first become runs of its window and then look for partners in the windows of the
other inputs as they stand at that moment:

    dQ/dA := dA, B(old),       C(old)           A arrives
    dQ/dB := dB, A(old + dA),  C(old)           then B
    dQ/dC := dC, A(old + dA),  B(old + dB)      then C

Each combination is found by the last of its rows in this order, so exactly once, whatever the
timestamps: order of arrival never matters, ties need no rule, and nothing between the inputs is stored.

An input is a stream or the results of another join. A result is alive while all its rows are, brings that
interval along, and meets other rows by the same rule as a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, Counts, Metrics, RunFiles
from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.conditions import Condition
from watersmeet.kernel.hot_keys import KeyFigures, key_figures, key_metrics
from watersmeet.kernel.numbers import path_number
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.results import Results, fetch
from watersmeet.kernel.route import Routes
from watersmeet.kernel.run import Rows
from watersmeet.kernel.sampling import PathPlanner, sample_windows
from watersmeet.kernel.search import BLOCK_BYTES, Search
from watersmeet.kernel.slicing import Slicing
from watersmeet.kernel.slots import in_slots
from watersmeet.kernel.spreading import KeySpreader
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan import Operator, Plan, ProbePath, Source
from watersmeet.plan.layout import OperatorLayout
from watersmeet.query.window_kind import OwnEnds, Slots

_NO_WATERMARK = -(1 << 62)


@dataclass(slots=True)
class MultiwayJoin(Bucket):
    """One bucket of one operator.

    Attributes:
        windows: The state, by input.
        routes: How the partners of new rows are found along a path.
        paths: The path of every input, unless a planner knows better.
        leaving: Per input the positions of the stored columns that results have.
        streams: The inputs that are streams; rows of the others are never late.
        own_ends: How rows get their ends, by input; the others live as long as their window is.
        slots: The slots in which rows of all inputs stand; None where they stand in none, or in one each.
        watermark: Every row still to come has a later time.
        planner: Chooses paths by what the windows hold; None keeps to those of the plan.
        slicing: Says which rows are stored here; None stores all that come.
        block_bytes: What a block of results may take per input.
        open_limit: What may be open at a time of the windows; None sets no limit.
        key_types: Per input the types of its key, where keys are counted and hot ones looked for.
        spreader: Decides which keys are spread over all buckets; None where none are.
        leave: Makes results of combinations, where there is more to them than their columns.
    """

    windows: list[StoredWindow] = field()
    routes: Routes
    paths: tuple[ProbePath, ...]
    leaving: tuple[tuple[int, ...], ...]
    streams: frozenset[int]
    own_ends: dict[int, OwnEnds] = field(default_factory=dict)
    slots: Slots | None = None
    watermark: int = _NO_WATERMARK
    planner: PathPlanner | None = None
    slicing: Slicing | None = None
    block_bytes: int = BLOCK_BYTES
    open_limit: OpenLimit | None = None
    key_types: tuple[tuple[pa.DataType, ...], ...] = ()
    spreader: KeySpreader | None = None
    leave: Callable[[Combinations], Iterator[Results]] | None = None
    figures: Sequence[KeyFigures] = field(default=(), init=False)
    counts: Counts = field(init=False)
    leaves_complete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Start counting from zero."""
        self.counts = Counts([0] * len(self.windows), [0] * len(self.windows))

    @classmethod
    def from_plan(
        cls, plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]
    ) -> MultiwayJoin:
        """An empty join for an operator of a plan."""
        found = {i: plan.own_ends(part) for i, part in enumerate(operator.inputs)}
        own_ends = {i: ends for i, ends in found.items() if ends is not None}
        slots = plan.query.slots
        windows = [
            StoredWindow(
                plan.reach(part),
                plan.time_slices,
                new_id,
                cut_by_end=i in own_ends or slots is not None,
                lingers=plan.lingers(operator, i),
            )
            for i, part in enumerate(operator.inputs)
        ]
        leaving = tuple(
            tuple(i for i, ref in enumerate(spec.stored) if ref in layout.output) for spec in layout.inputs
        )
        streams = frozenset(i for i, part in enumerate(operator.inputs) if isinstance(part, Source))
        return cls(windows, Routes(plan, operator, layout), operator.paths, leaving, streams, own_ends, slots)

    def on_start(self, watermark: int) -> None:
        """A batch begins; rows of streams up to the watermark are late."""
        self.watermark = watermark

    def on_rows(self, part: int, new: Rows) -> Iterator[Results]:
        """Take new rows of one input and yield the results they complete.

        Rows of a stream at or before the watermark are late: they are counted and dropped. The window takes
        the rows at once; the results come as the iterator is read.
        """
        return self.met(part, self.in_time(part, new))

    def on_hot(self, part: int, dealt: int, new: Rows) -> Iterator[Results]:
        """Rows of hot keys look along paths of their own: orders that follow samples of keys miss these."""
        if self.spreader is not None and len(new):
            window = self.windows[part]
            self.spreader.rows_until(int(new.times.max()) + window.length + window.lingers)
        order = self.paths[part].order
        path = ProbePath(part, order)
        return self.met(
            part, self.in_time(part, new), path if part == dealt else self._dealt_first(path, dealt)
        )

    def _dealt_first(self, usual: ProbePath, dealt: int) -> ProbePath:
        """First where this bucket has a part of the rows, since all else is found in every bucket alike.

        Not where nothing but the key says which of them to take, while elsewhere a condition does.
        """
        path = ProbePath(usual.head, (dealt, *(other for other in usual.order if other != dealt)))
        stages = [self.routes.along(one).stages[0] for one in (path, usual)]
        narrowed, usually = (bool(stage.conditions) and len(stage.inputs) == 1 for stage in stages)
        return path if narrowed or not usually else usual

    def met(self, part: int, new: Rows, path: ProbePath | None = None) -> Iterator[Results]:
        """Store new rows of one input and yield the results they complete, whatever the watermark."""
        heads, _ = self.store(part, new)
        visible: list[Sequence[StoredRun]] = [list(window.runs) for window in self.windows]
        visible[part] = heads
        return self.results(part, visible, path=path)

    def store(self, part: int, new: Rows) -> tuple[list[StoredRun], list[StoredRun]]:
        """Store new rows; returns the runs that look for partners, and those in which others find them."""
        new = self.with_ends(part, new)
        if self.slicing is None:
            fresh = self.windows[part].insert(new)
            return fresh, fresh
        window = self.windows[part]
        heads, kept = self.slicing.keyed(part, new)
        mine = self.slicing.mine(part, kept, window.length, self.watermark)
        passing = replace(window, runs=[], added={}, removed=[])
        return passing.insert(heads), window.insert(kept if mine.all() else kept.take(np.flatnonzero(mine)))

    def with_ends(self, part: int, new: Rows) -> Rows:
        """Rows as they are stored: in all their slots, and with ends of their own where they have any."""
        if self.slots is not None:
            new = in_slots(new, self.slots)
        if part in self.own_ends:
            new = replace(new, ends=self.own_ends[part].of(new.times))
        return new

    def late(self, part: int, rows: Rows) -> Any:
        """Rows of a stream at or before the watermark are late, results of another join never."""
        return rows.times <= self.watermark if part in self.streams else np.zeros(len(rows), bool)

    def in_time(self, part: int, new: Rows) -> Rows:
        """The rows that are not late; both kinds are counted."""
        self.counts.rows_in[part] += len(new)
        late = self.late(part, new)
        if not late.any():
            return new
        self.counts.late[part] += int(late.sum())
        late_by = self.watermark - int(new.times[late].min())
        self.counts.late_by[part] = max(late_by, self.counts.late_by.get(part, 0))
        return new.take(np.flatnonzero(~late))

    def on_watermark(self, watermark: int) -> None:
        """Every row still to come has a later time: drop what it cannot meet, and tidy up."""
        self.watermark = max(self.watermark, watermark)
        for window in self.windows:
            window.expire(self.watermark)
            window.compact()
        if self.spreader is not None and (self.spreader.rule is not None or self.spreader.keys):
            if self.spreader.rule is not None:
                self.figures = [key_figures(window.runs) for window in self.windows]
            self.spreader.step(self.watermark, self.windows, self.figures)

    def next_expiry(self) -> int | None:
        """The watermark at which `on_watermark` has something to drop."""
        times = [time for window in self.windows if (time := window.next_expiry()) is not None]
        return min(times, default=None)

    def save(self) -> dict[str, Any]:
        """What to keep beside the runs: paths that were found, who stores what, which runs were of use."""
        kept: dict[str, Any] = {}
        if self.planner is not None:
            kept["paths"] = self.planner.remember()
        if self.slicing is not None:
            kept["shares"] = self.slicing.shares
        if self.open_limit is not None:
            kept["found"] = self.open_limit.remember(
                stored.id for window in self.windows for stored in window.runs
            )
        if self.spreader is not None:
            kept |= self.spreader.save()
        return kept

    def load(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        if self.planner is not None and "paths" in kept:
            self.planner.recall(kept["paths"])
        if self.slicing is not None and "shares" in kept:
            self.slicing.shares = kept["shares"]
        if self.open_limit is not None and "found" in kept:
            self.open_limit.before = kept["found"]
        if self.spreader is not None:
            self.spreader.load(kept)

    def use_files(self, files: RunFiles) -> None:
        """Look into windows piece by piece, where they do not fit."""
        assert self.open_limit is not None
        self.open_limit.use_files(files)

    def resident(self) -> set[str]:
        """The runs that stay open until the next batch."""
        assert self.open_limit is not None
        return self.open_limit.staying([stored for window in self.windows for stored in window.runs])

    def take_counts(self) -> Counts:
        """The counts, starting anew."""
        counts = self.counts
        self.__post_init__()
        return counts

    def take_metrics(self) -> Metrics:
        """What it did, which ways it went, and which keys it holds."""
        counts = self.take_counts()
        found = counts.metrics()
        # Rows of streams were counted when they were packed.
        found |= {f"rows_{i}": n for i, n in enumerate(counts.rows_in) if i not in self.streams}
        if self.planner is not None:
            found["path_changes"] = self.planner.take_changes()
            found |= {f"path_{i}": path_number(path) for i, path in enumerate(self.planner.paths)}
        if self.open_limit is None:
            # Where memory is limited, all runs would have to be opened for that.
            found |= key_metrics(
                self.windows,
                self.key_types,
                with_slot=self.slots is not None,
                figures=self.figures,
                wanted=None if self.spreader is None else self.spreader.mine,
            )
            self.figures = ()
        if self.spreader is not None:
            found["spread_keys"] = len(self.spreader.routes)
        return found

    def results(
        self,
        part: int,
        visible: Sequence[Sequence[StoredRun]],
        *,
        also: tuple[Condition, ...] = (),
        path: ProbePath | None = None,
    ) -> Iterator[Results]:
        """The results with the visible rows of one input, and rows of the others that are visible.

        Args:
            part: The input.
            visible: By input the rows that take part.
            also: Conditions of this search alone.
            path: The path of this search; None takes that of the input.
        """
        if path is None:
            path = self._path(part, visible)
        lengths = [window.length for window in self.windows]
        route = self.routes.along(path, also=also)
        search = Search(route, visible, lengths, self.block_bytes, self.open_limit)
        for rows in search.combinations():
            self.counts.results += len(rows)
            yield from fetch(rows, self.leaving) if self.leave is None else self.leave(rows)
        self.counts.examined += search.examined
        self.counts.lookups += search.lookups
        if self.planner is not None and search.agreed:
            self.planner.learn(search.agreed)

    def _path(self, part: int, visible: Sequence[Sequence[StoredRun]]) -> ProbePath:
        if self.planner is None or not all(visible):
            return self.paths[part]
        rows_visible = [sum(stored.rows for stored in runs) for runs in visible]
        look = partial(sample_windows, visible, self.routes.scanned)
        path = self.planner.path(part, rows_visible, look)
        if self.spreader is not None and self.spreader.until > self.watermark:
            # From the new rows on: others would go through all rows of hot keys that are here.
            return ProbePath(part, path.order)
        return path
