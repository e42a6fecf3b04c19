"""The kinds of bucket that Spark runs, as they are made on the workers from a plan.

| kind | of which joins |
|---|---|
| `MultiwayJoin` | windows of time: rows join as they come |
| `WaitingJoin` | windows of rows: rows wait for the watermark |
| `OuterJoin` | outer, full and anti joins: what has no partner leaves when the watermark has passed it |
| `SemiJoin` | semi joins: a row leaves with its first partners |
| `SessionJoin` | sessions: rows wait until theirs has ended |
| `ProgressiveBucket` | no windows: what does not fit in memory waits on disk |
| `SiteBucket` | streams at different sites: parts that send each other messages |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from watersmeet.cost.progressive import PageTimes, recent_volume
from watersmeet.kernel.bucket import Bucket
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.kinds import inside
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.operator import Kernel, kernel_for, kernel_kind
from watersmeet.kernel.outer import OuterJoin
from watersmeet.kernel.progressive.bucket import ALL_RUNS, ProgressiveBucket
from watersmeet.kernel.semi import SemiJoin
from watersmeet.kernel.sessions import SessionJoin
from watersmeet.kernel.sites.bucket import SiteBucket
from watersmeet.kernel.sites.node import Node
from watersmeet.kernel.slicing import Slicing
from watersmeet.kernel.spreading import KeySpreader
from watersmeet.kernel.waiting import WaitingJoin
from watersmeet.optimize.adapt import Adaptive
from watersmeet.optimize.progressive.policies import policy
from watersmeet.optimize.progressive.tasks import FastestOutput
from watersmeet.optimize.resident_runs import MostUseful
from watersmeet.plan import Operator, Plan
from watersmeet.plan.dealing import may_deal
from watersmeet.plan.layout import OperatorLayout, Ref
from watersmeet.plan.plan import operators
from watersmeet.plan.progressive import Bounded
from watersmeet.plan.sites.wiring import Wiring

# Local files are mapped, mostly from memory of the system: no arm has to move.
_PAGES = PageTimes(random=0.0001, sequential=0.0001)
# Runs are merged to one part in so many of what may be open.
_MERGED_PARTS = 4


@dataclass(frozen=True)
class OperatorBuckets:
    """Buckets of an operator whose inputs have windows.

    Attributes:
        plan: The plan, without its DataFrames.
        operator: One of its operators.
        layout: The columns of that operator.
        key_types: Per input the types of its key, where keys are counted.
        schemas: Per input the columns that are stored.
    """

    plan: Plan
    operator: Operator
    layout: OperatorLayout
    key_types: tuple[tuple[pa.DataType, ...], ...] = ()
    schemas: tuple[pa.Schema, ...] = ()

    @property
    def kind(self) -> type[Bucket]:
        """What it makes."""
        return kernel_kind(self.plan, self.operator)

    def __call__(self, number: int, new_id: Callable[[], str]) -> Kernel:
        """An empty bucket."""
        bucket = kernel_for(self.plan, self.operator, self.layout, new_id)
        kind = bucket.kind if isinstance(bucket, SessionJoin | WaitingJoin) else bucket
        join = inside(kind)
        join.key_types = self.key_types
        if isinstance(kind, OuterJoin | SemiJoin):
            kind.partners.schemas = self.schemas
        if self.operator.sliced:
            join.slicing = self._slicing(number)
        if dealt := may_deal(self.plan):
            join.spreader = KeySpreader(number, self.plan.buckets, dealt, self.plan.hot_keys)
        if self.plan.adaptive:
            join.planner = Adaptive.of(self.plan.query, self.operator)
        if self.plan.bounded is not None:
            self._limit(join, self.plan.bounded)
        return bucket

    def _slicing(self, number: int) -> Slicing:
        slicing = Slicing(number, self.plan.buckets, self.plan.active or self.plan.buckets)
        band = self.operator.band
        if band is not None:
            refs = [Ref(field.stream, field.column) for field in (band.left, band.right)]
            first, second = (
                spec.stored.index(ref) for spec, ref in zip(self.layout.inputs, refs, strict=True)
            )
            slicing.band = band, (first, second)
        return slicing

    def _limit(self, join: MultiwayJoin, bounded: Bounded) -> None:
        """Let a join look into its windows piece by piece, where they do not fit."""
        resident = bounded.resident_bytes(self.plan.buckets, len(operators(self.plan.root)))
        join.open_limit = OpenLimit(bounded.open_bytes, MostUseful(resident))
        join.block_bytes = bounded.block_bytes
        for window in join.windows:
            window.merge_bytes = bounded.open_bytes // _MERGED_PARTS


@dataclass(frozen=True)
class ProgressiveBuckets:
    """Buckets of a join without windows, each with its part of the memory.

    Attributes:
        plan: The plan, without its DataFrames.
        layout: The columns of its only operator.
        schemas: Per side the columns that are stored.
    """

    plan: Plan
    layout: OperatorLayout
    schemas: tuple[pa.Schema, ...]

    @property
    def kind(self) -> type[Bucket]:
        """What it makes."""
        return ProgressiveBucket

    def __call__(self, number: int, new_id: Callable[[], str]) -> ProgressiveBucket:
        """An empty bucket."""
        del number
        bounded = self.plan.bounded
        assert bounded is not None
        return ProgressiveBucket.from_plan(
            self.plan,
            self.plan.root,
            self.layout,
            new_id,
            policy=policy(bounded.algorithm, FastestOutput(_PAGES, fan_in=ALL_RUNS)),
            memory=bounded.bucket_bytes(self.plan.buckets),
            recent=recent_volume,
            schemas=self.schemas,
        )


@dataclass(frozen=True)
class SiteBuckets:
    """The sites of a join between them.

    Attributes:
        wiring: What runs where.
        lateness: Per stream how late its rows may be, microseconds.
    """

    wiring: Wiring
    lateness: tuple[int, ...]

    @property
    def kind(self) -> type[Bucket]:
        """What it makes."""
        return SiteBucket

    def __call__(self, number: int, new_id: Callable[[], str]) -> SiteBucket:
        """The empty parts of a site."""
        del new_id
        return SiteBucket(Node(self.wiring, self.wiring.sites[number]), self.lateness)
