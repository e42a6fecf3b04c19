"""The query: which streams meet, under which conditions, and what of them is kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Attribute
from watersmeet.query.bands import Bound, Distances, distances
from watersmeet.query.common_window import common_window, refuse_missing_key
from watersmeet.query.condition import Afterwards, Condition, Filter, OnCondition
from watersmeet.query.expression import fields
from watersmeet.query.function import Function
from watersmeet.query.kind import (
    ANTI,
    INNER,
    OUTER,
    SEMI,
    binding_order,
    kind_of,
    preserved,
    refuse_endless_wait,
)
from watersmeet.query.memory import refuse_unfit_memory
from watersmeet.query.predicate import Predicates, Types, sort_predicates
from watersmeet.query.selection import (
    Output,
    Selection,
    kept_columns,
    refuse_unstorable,
    select_columns,
)
from watersmeet.query.shared_key import Names, names, shared_key
from watersmeet.query.stream import Stream
from watersmeet.query.window_kind import OwnEnds, Slots

On = Names | Function | Sequence[str | Function | OnCondition] | Mapping[str, Names] | None
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
        kind: Which rows come out without partners (`query.kind`).
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
    kind: str = INNER

    @property
    def optional(self) -> tuple[int, ...]:
        """The streams results can go on without, in the order in which they are added."""
        return tuple(n for n in self.binding_order if self.streams[n].optional)

    @property
    def preserved(self) -> tuple[int, ...]:
        """The streams whose rows come out without partners."""
        return preserved(self.streams, self.kind)

    @property
    def binding_order(self) -> tuple[int, ...]:
        """The order in which rows are added to a result."""
        return binding_order(self.streams, self.kind)

    def must_have(self, stream: int, attribute: Attribute) -> bool:
        """Whether a row without a value of an attribute can be dropped: it can be in no result then.

        A preserved row comes out without partners. An optional one has to equal those before it, but those
        after it have to equal it.
        """
        if self.kind != OUTER:
            return stream not in self.preserved
        others = [n for n in attribute.streams if n != stream]
        if not self.streams[stream].optional:
            return any(not self.streams[n].optional for n in others)
        order = self.binding_order
        return any(order.index(n) < order.index(stream) for n in others)

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
    _refuse_what_is_no_join(streams)
    streams, kind = kind_of(streams, how)
    common = common_window(streams)
    refuse_endless_wait(streams, kind)
    _refuse_sites(streams, kind)
    keys, conditions = _keys_and_conditions(streams, on)
    found = sort_predicates(streams, conditions, types, kind)
    if keys:
        found.attributes[:0] = shared_key(streams, keys, types)
    if not cross:
        _refuse_cross_product(found)
    refuse_missing_key(streams, found.attributes, common)
    reaches = tuple(
        _reach(found, number, kind) if common is None else common.longest_us for number in range(len(streams))
    )
    refuse_unfit_memory(streams, found.attributes, memory)
    chosen = select
    if chosen is not None and not isinstance(chosen, Selection):
        chosen = select_columns(streams, chosen)
    _refuse_columns_of_others(streams, kind, chosen)
    kept = kept_columns(streams, chosen)
    if kind in (SEMI, ANTI):
        kept = (kept[0], *[()] * (len(streams) - 1))
    _refuse_unstorable(found, kept)
    return JoinQuery(
        streams=tuple(streams),
        attributes=tuple(found.attributes),
        kept=kept,
        reaches=reaches,
        filters=tuple(found.filters),
        conditions=tuple(
            condition for condition in found.conditions if not _implied(condition, streams, reaches)
        ),
        afterwards=tuple(found.afterwards),
        outputs=None if chosen is None else chosen.outputs,
        by_windows=tuple(dict.fromkeys(c.text for c in found.conditions if _implied(c, streams, reaches))),
        memory=memory,
        kind=kind,
    )


def _refuse_what_is_no_join(streams: Sequence[Stream]) -> None:
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
) -> tuple[tuple[str, ...] | Mapping[str, Names], list[str | Function | OnCondition]]:
    """Tell names of shared columns from conditions."""
    if isinstance(on, Mapping):
        return on, []
    listed = list(on) if isinstance(on, (list, tuple)) else [] if on is None else [on]
    functions = [item for item in listed if isinstance(item, Function | OnCondition)]
    items = names([item for item in listed if not isinstance(item, Function | OnCondition)])  # type: ignore[misc]
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
            "cross=True, in SQL CROSS JOIN, asks for every combination.",
        )
    raise InvalidQuery(
        "the join graph is not connected",
        f"no condition connects {choices(described)}.",
        "add a condition between them; cross=True, in SQL CROSS JOIN, asks for every combination.",
    )


def _refuse_unstorable(found: Predicates, kept: Sequence[Sequence[str]]) -> None:
    """Refuse columns of the result, or of conditions between streams, whose values cannot be kept."""
    returned = [(number, name) for number, names in enumerate(kept) for name in names]
    left_to_spark = [column for rest in found.afterwards for column in rest.columns]
    judged = [(f.stream, f.column) for condition in found.conditions for f in fields(condition.expression)]
    refuse_unstorable(found.streams, [*returned, *left_to_spark, *judged])


def _reach(found: Predicates, stream: int, kind: str) -> int | None:
    """How long a row of a stream can wait for its last partner.

    A preserved row comes out at its end, so conditions do not shorten a window that it has. What lies
    between two streams is not inferred through an optional one, which may be missing.
    """
    streams = found.streams
    window = streams[stream].window
    if stream in preserved(streams, kind) and window.longest_us is not None:
        return window.longest_us
    limits = [_most_us(found, stream, number) for number in range(len(streams))]
    if None in limits and window.left_to_conditions:
        raise _unlimited(found, stream, limits.index(None))
    return None if None in limits else max(limit for limit in limits if limit is not None)


def _most_us(found: Predicates, stream: int, other: int) -> int | None:
    """How much later a row of another stream can be than one of a stream, in a result that has both.

    What decides about the partners of an optional stream holds only where it has one.
    """
    required = {number for number, one in enumerate(found.streams) if not one.optional}
    among = {*required, stream, other}
    always = _distances(found, among, {None})
    try:
        return _distances(found, among, {None, stream, other}).most_us[stream][other]
    except InvalidQuery:
        # One of the two is optional and never has partners.
        return always.most_us[stream][other] or 0


def _distances(found: Predicates, among: Collection[int], owners: Collection[int | None]) -> Distances:
    """How far apart the rows of some streams can be, by conditions of some owners."""
    bounds = [
        *found.bounds,
        *(replace(b, owner=condition.owner) for condition in found.conditions for b in condition.bounds),
    ]
    streams = found.streams
    for earlier in among:
        if (longest := streams[earlier].window.longest_us) is not None:
            reason = f'the window of "{streams[earlier].name}"'
            bounds += [Bound(earlier, later, longest, reason) for later in among if later != earlier]
    used = [one for one in bounds if {one.earlier, one.later} <= {*among} and one.owner in owners]
    return distances(len(streams), used)


def _unlimited(found: Predicates, number: int, partner: int) -> InvalidQuery:
    stream, other = found.streams[number], found.streams[partner]
    unread = [
        f'"{rest.text}" does not help, since the kernel has no {rest.reason}.'
        for rest in found.afterwards
        if (number, stream.time) in rest.columns
    ]
    because = f'it has no window, and no condition says how much later a row of "{other.name}" may be.'
    return InvalidQuery(
        f'rows of stream "{stream.name}" would have to be kept for ever',
        " ".join([because, *unread]),
        f'give it a window, or a condition such as "{other.name}.{other.time} <= '
        f'{stream.name}.{stream.time} + INTERVAL 10 MINUTES".',
    )


def _refuse_sites(streams: Sequence[Stream], kind: str) -> None:
    placed = [stream.name for stream in streams if stream.site is not None]
    if placed and kind != INNER:
        raise InvalidQuery(
            "joins between sites return one row of every stream",
            f"{choices(placed)} arrive at sites, and the kind of this join is {kind}.",
            "leave site= out, or join them without wm.optional and how=.",
        )


def _refuse_columns_of_others(streams: Sequence[Stream], kind: str, chosen: Selection | None) -> None:
    if chosen is None or kind not in (SEMI, ANTI):
        return
    for stream, kept in zip(streams[1:], chosen.kept[1:], strict=True):
        if kept:
            raise InvalidQuery(
                f'a join of kind {kind} has no column "{stream.name}.{kept[0]}"',
                f'it returns rows of "{streams[0].name}" alone.',
                f'select columns of "{streams[0].name}" only, or use another kind of join.',
            )


def _implied(condition: Condition, streams: Sequence[Stream], reaches: Sequence[int | None]) -> bool:
    """Whether the windows already see to it: nothing is later than a row by more than its reach.

    Of a row that is missing nothing holds: a condition of an optional stream with another one is judged.
    """
    if any(streams[stream].optional for stream in condition.streams if stream != condition.owner):
        return False
    limits = [(reaches[bound.earlier], bound.most_us) for bound in condition.bounds]
    return bool(limits) and all(reach is not None and reach <= most for reach, most in limits)
