"""The query: which streams meet, under which conditions, and what of them is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Attribute
from watersmeet.query.bands import Bound, Distances, distances
from watersmeet.query.common_window import common_window, refuse_missing_key
from watersmeet.query.function import Function
from watersmeet.query.memory import refuse_unfit_memory
from watersmeet.query.predicate import (
    Afterwards,
    Condition,
    Filter,
    Predicates,
    Types,
    sort_predicates,
)
from watersmeet.query.selection import Output, Selection, kept_columns, select_columns
from watersmeet.query.shared_key import Names, names, shared_key
from watersmeet.query.stream import Stream
from watersmeet.query.window_kind import OwnEnds, Slots

On = Names | Function | Sequence[str | Function] | Mapping[str, Names] | None
_COLUMN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """A join in its normal form.

    Attributes:
        streams: The inputs, in the order they were given.
        attributes: What is equal across streams.
        kept: Per stream the columns the result holds.
        reaches: Per stream how long a row can wait for its last partner, microseconds: its window, made
            shorter by the conditions on time. None: only a number of rows limits it.
        filters: Conditions on one stream.
        conditions: Conditions the kernel evaluates.
        afterwards: Conditions Spark evaluates on the results.
        outputs: The result's columns when it is flat; None for one struct per stream and the result time.
        memory: Bytes that all its rows may take in the memory of an executor; None sets no limit.
        by_windows: Conditions that hold for all rows that are alive together, so nobody has to judge them.
    """

    streams: tuple[Stream, ...]
    attributes: tuple[Attribute, ...]
    kept: tuple[tuple[str, ...], ...]
    reaches: tuple[int | None, ...]
    filters: tuple[Filter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    afterwards: tuple[Afterwards, ...] = ()
    outputs: tuple[Output, ...] | None = None
    by_windows: tuple[str, ...] = ()
    memory: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Stream names in order."""
        return tuple(stream.name for stream in self.streams)

    @property
    def slots(self) -> Slots | None:
        """The slots in which rows of all streams stand; None where they stand in none, or in one each."""
        return self.streams[0].window.slots

    @property
    def gap_us(self) -> int | None:
        """How far apart neighbouring rows of a session are at most; None without sessions."""
        return self.streams[0].window.gap_us

    def own_ends(self, stream: int) -> OwnEnds | None:
        """How the rows of a stream get their ends; None where all live as long as its reach."""
        return self.streams[stream].window.own_ends(self.reaches[stream])


def join_query(
    streams: Sequence[Stream],
    on: On,
    select: Sequence[str] | Selection | None,
    how: str,
    types: Types,
    *,
    cross: bool = False,
    memory: int | None = None,
) -> JoinQuery:
    """Check a join as the user wrote it and give it its normal form.

    Args:
        streams: The inputs.
        on: The shared key, conditions as SQL texts, functions, or all of these in one list.
        select: The columns to keep; None keeps all, in one struct per stream.
        how: The kind of join.
        types: Who knows the types of expressions.
        cross: Whether parts that no condition connects may meet in every combination.
        memory: Bytes that rows may take in memory; None sets no limit.
    """
    _refuse_what_is_no_join(streams, how)
    common = common_window(streams)
    keys, conditions = _keys_and_conditions(streams, on)
    found = sort_predicates(streams, conditions, types)
    if keys:
        found.attributes[:0] = shared_key(streams, keys)
    if not cross:
        _refuse_cross_product(found)
    refuse_missing_key(streams, found.attributes, common)
    apart = _distances(found)
    reaches = tuple(
        apart.reach(number) if common is None else common.longest_us for number in range(len(streams))
    )
    _refuse_unlimited(found, reaches, apart)
    refuse_unfit_memory(streams, found.attributes, memory)
    chosen = select
    if chosen is not None and not isinstance(chosen, Selection):
        chosen = select_columns(streams, chosen)
    return JoinQuery(
        streams=tuple(streams),
        attributes=tuple(found.attributes),
        kept=kept_columns(streams, chosen),
        reaches=reaches,
        filters=tuple(found.filters),
        conditions=tuple(condition for condition in found.conditions if not _implied(condition, reaches)),
        afterwards=tuple(found.afterwards),
        outputs=None if chosen is None else chosen.outputs,
        by_windows=tuple(dict.fromkeys(c.text for c in found.conditions if _implied(c, reaches))),
        memory=memory,
    )


def _refuse_what_is_no_join(streams: Sequence[Stream], how: str) -> None:
    if how != "inner":
        raise InvalidQuery(
            f'join type "{how}" is not supported',
            "a result is one row of every stream.",
            'use how="inner".',
        )
    if len(streams) < 2:
        raise InvalidQuery(
            "a join needs at least two streams",
            f"{len(streams)} given.",
            'pass them one by one: wm.join(orders, payments, on="order_id").',
        )
    for stream in streams:
        if not isinstance(stream, Stream):
            raise InvalidQuery(
                f"a join takes streams, not {type(stream).__name__}",
                "",
                'wrap the DataFrame: wm.stream("orders", df, time="ts", window="10 minutes").',
            )
    called = [stream.name for stream in streams]
    for name in called:
        if sum(other.lower() == name.lower() for other in called) > 1:
            raise InvalidQuery(
                f'stream name "{name}" is used twice',
                f"the streams are {choices(called)}.",
                "give every stream its own name; the same DataFrame may appear under several names.",
            )


def _keys_and_conditions(
    streams: Sequence[Stream], on: On
) -> tuple[tuple[str, ...] | Mapping[str, Names], list[str | Function]]:
    """Tell names of shared columns from conditions."""
    if isinstance(on, Mapping):
        return on, []
    listed = list(on) if isinstance(on, (list, tuple)) else [] if on is None else [on]
    functions = [item for item in listed if isinstance(item, Function)]
    items = names([item for item in listed if not isinstance(item, Function)])  # type: ignore[misc]
    columns = {name for stream in streams for name in stream.column_names}
    keys = tuple(item for item in items if item in columns or _COLUMN_NAME.fullmatch(item))
    return keys, [*(item for item in items if item not in keys), *functions]


def _refuse_cross_product(found: Predicates) -> None:
    parts = found.unconnected()
    if len(parts) < 2:
        return
    described = ["+".join(found.streams[stream].name for stream in part) for part in parts]
    if len(parts) == len(found.streams):
        raise InvalidQuery(
            "the join has no condition",
            "every row would meet every other that is alive.",
            'name a shared column, on="order_id", or write a condition; '
            "cross=True asks for every combination.",
        )
    raise InvalidQuery(
        "the join graph is not connected",
        f"no condition connects {choices(described)}.",
        "add a condition between them; cross=True asks for every combination.",
    )


def _distances(found: Predicates) -> Distances:
    bounds = [*found.bounds, *(bound for condition in found.conditions for bound in condition.bounds)]
    streams = found.streams
    for earlier, stream in enumerate(streams):
        if (longest := stream.window.longest_us) is not None:
            reason = f'the window of "{stream.name}"'
            others = (later for later in range(len(streams)) if later != earlier)
            bounds += [Bound(earlier, later, longest, reason) for later in others]
    return distances(len(streams), bounds)


def _refuse_unlimited(found: Predicates, reaches: Sequence[int | None], apart: Distances) -> None:
    for number, (stream, reach) in enumerate(zip(found.streams, reaches, strict=True)):
        if reach is None and stream.window.left_to_conditions:
            other = found.streams[apart.most_us[number].index(None)]
            unread = [
                f'"{rest.text}" does not help, since the kernel has no {rest.reason}.'
                for rest in found.afterwards
                if (number, stream.time) in rest.columns
            ]
            because = (
                f'it has no window, and no condition says how much later a row of "{other.name}" may be.'
            )
            raise InvalidQuery(
                f'rows of stream "{stream.name}" would have to be kept for ever',
                " ".join([because, *unread]),
                f'give it a window, or a condition such as "{other.name}.{other.time} <= '
                f'{stream.name}.{stream.time} + INTERVAL 10 MINUTES".',
            )


def _implied(condition: Condition, reaches: Sequence[int | None]) -> bool:
    """Whether the windows already see to it: nothing is later than a row by more than its reach."""
    limits = [(reaches[bound.earlier], bound.most_us) for bound in condition.bounds]
    return bool(limits) and all(reach is not None and reach <= most for reach, most in limits)
