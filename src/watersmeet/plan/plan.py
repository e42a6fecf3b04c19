"""Plans as plain data: a tree of multi-way operators over the streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watersmeet.plan.choice import Choice
from watersmeet.plan.hot_rule import HotRule
from watersmeet.plan.progressive import Bounded
from watersmeet.query import JoinQuery
from watersmeet.query.kind import ANTI, FULL, INNER, OUTER, SEMI
from watersmeet.query.number_band import NumberBand
from watersmeet.query.window_kind import OwnEnds

if TYPE_CHECKING:
    from watersmeet.plan.sites.sliced import Sliced

# A window is cut into this many time slices. State leaves in whole runs, which are as long as one slice, or
# up to two and a half: what is dead is about 1/12 of a window; more slices would mean more runs to look into
# for every arriving row.
TIME_SLICES_PER_WINDOW = 12

# Buckets are fixed for the life of a checkpoint, and so are partitions: Spark keeps those of the first start.
# Eight buckets spread evenly over 1, 2, 4 or 8 partitions and keep the runs of a bucket large.
DEFAULT_BUCKETS = 8

# Stands between the names of streams whose results are an input; no stream can have it in its name.
BETWEEN = "+"

# How long a row lives that only a number of rows ends: longer than time is counted, and still a number that
# can be added to a time.
FOREVER_US = 1 << 60


@dataclass(frozen=True, slots=True)
class ProbePath:
    """The order in which an arriving row of one input visits the windows of the others.

    Attributes:
        head: The input with the new rows.
        order: The other inputs.
        before: How many of them are gone through before the new rows. Where many rows come at a time, it
            can be cheaper to go through a small window and to look for the new rows from there (Golab &
            Özsu 2003, Sect. 3.3: new tuples need not be in the outermost loop).

    >>> ProbePath(head=0, order=(2, 1)).sequence
    (0, 2, 1)
    >>> ProbePath(head=0, order=(2, 1), before=1).sequence
    (2, 0, 1)
    """

    head: int
    order: tuple[int, ...]
    before: int = 0

    def __post_init__(self) -> None:
        """Every other input is visited exactly once."""
        expected = sorted(set(range(len(self.order) + 1)) - {self.head})
        if sorted(self.order) != expected:
            raise ValueError(f"a path of input {self.head} must visit {expected}, not {list(self.order)}")
        if not 0 <= self.before <= len(self.order):
            raise ValueError(f"{self.before} of {len(self.order)} inputs cannot come before the new rows")

    @classmethod
    def of(cls, head: int, sequence: Sequence[int]) -> ProbePath:
        """The path that goes through all inputs in an order that contains the head."""
        others = tuple(part for part in sequence if part != head)
        return cls(head, others, list(sequence).index(head))

    @property
    def sequence(self) -> tuple[int, ...]:
        """All inputs in the order in which their rows are bound."""
        return (*self.order[: self.before], self.head, *self.order[self.before :])


@dataclass(frozen=True, slots=True)
class Source:
    """A stream as an input of an operator."""

    stream: int

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams whose rows it brings."""
        return (self.stream,)


@dataclass(frozen=True, slots=True)
class Operator:
    """One multi-way join: inputs that share a key meet in the bucket of the key.

    Attributes:
        inputs: Streams, and operators whose results are joined further.
        key: The numbers of the query's attributes that make its key. Without any, the first input is
            spread over the buckets.
        replicated: The inputs that have no part in the key and go to every bucket.
        paths: One probe path per input.
        conditions: The numbers of the query's conditions that are evaluated here.
        checks: The numbers of attributes that some of its inputs share, but not all: they cannot be part of
            the key, so their values are compared.
        late: Conditions that wait until all rows are bound, since asking is dear and few combinations get
            there.
        sliced: Whether its two inputs, which share no key, lie in slices: every bucket stores a part of each,
            and all new rows look into all of them (`kernel.shares`).
        band: By which numbers rows of a sliced window are found (`kernel.grid`); None looks at all of them.
        segment: The rows of the first input are spread by segments of this length, microseconds, and the
            others go to where a partner may be ("aligned"); None spreads them one by one.
        optional: The inputs that results go on without, in the order in which they are added.
        kind: Which rows come out without partners (`query.kind`); in a tree of optional streams every
            operator that adds some is an outer one.
    """

    inputs: tuple[Source | Operator, ...]
    key: tuple[int, ...]
    replicated: frozenset[int]
    paths: tuple[ProbePath, ...]
    conditions: tuple[int, ...] = ()
    checks: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    sliced: bool = False
    band: NumberBand | None = None
    segment: int | None = None
    optional: tuple[int, ...] = ()
    kind: str = INNER

    @property
    def required(self) -> tuple[int, ...]:
        """The inputs that every result has a row of."""
        return tuple(number for number in range(len(self.inputs)) if number not in self.optional)

    @property
    def preserved(self) -> tuple[int, ...]:
        """The inputs of which a row can come out alone."""
        if self.kind == OUTER:
            return self.required if len(self.required) == 1 else ()
        return {FULL: (0, 1), ANTI: (0,)}.get(self.kind, ())

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams below, in the order of the query."""
        return tuple(sorted(stream for part in self.inputs for stream in part.streams))

    def also_by(self, query: JoinQuery, bound: Iterable[int], part: int) -> tuple[int, ...]:
        """By which attributes rows of an input are looked up beside the key, once others are bound.

        They are those of the checks that the input shares with one of them.
        """
        before = set(bound)
        having = {number: self.having(query, number) for number in self.checks}
        return tuple(number for number, inputs in having.items() if part in inputs and inputs & before)

    def having(self, query: JoinQuery, attribute: int) -> frozenset[int]:
        """The inputs that have a value of an attribute."""
        members = query.attributes[attribute]
        return frozenset(n for n, part in enumerate(self.inputs) if members.among(part.streams))

    def evaluated(self, query: JoinQuery, path: ProbePath) -> tuple[tuple[int, ...], ...]:
        """Per step of a path, the conditions whose last row is bound there."""
        first, *others = path.sequence
        bound = set(self.inputs[first].streams)
        waiting = list(self.conditions)
        steps = []
        for visited in others:
            bound.update(self.inputs[visited].streams)
            ready = tuple(
                number
                for number in waiting
                if query.conditions[number].streams <= bound
                and (number not in self.late or visited == others[-1])
            )
            waiting = [number for number in waiting if number not in ready]
            steps.append(ready)
        return tuple(steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is computed.

    Attributes:
        query: What is computed.
        root: The operator that gives the results.
        buckets: How many independent parts every operator is split into.
        time_slices: How many time slices a window is cut into.
        adaptive: Whether a bucket changes its probe paths when its rows tell it to.
        active: How many buckets are given new rows of sliced windows; None gives them to all. The others keep
            what they have until it has expired.
        hot_keys: When a key is hot enough for its rows to be spread over all buckets; None spreads none.
        deployed: How `deploy` runs a join whose windows lie in slices; None where none do.
        bounded: How it keeps to its memory; None where that has no limit.
        choices: How the plan came about, for people.
        notes: What was assumed or left out in planning, for people.
    """

    query: JoinQuery
    root: Operator
    buckets: int = DEFAULT_BUCKETS
    time_slices: int = TIME_SLICES_PER_WINDOW
    adaptive: bool = True
    active: int | None = None
    hot_keys: HotRule | None = None
    deployed: Sliced | None = None
    bounded: Bounded | None = None
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def endless(self) -> bool:
        """Whether rows wait for ever, so that some of them have to wait on disk."""
        return any(stream.window.endless for stream in self.query.streams)

    def input_name(self, part: Source | Operator) -> str:
        """The stream's name, or the names of the streams whose results it is."""
        return BETWEEN.join(self.query.names[stream] for stream in part.streams)

    def reach(self, part: Source | Operator) -> int:
        """How long a row of an input can wait for partners, microseconds."""
        streams = part.streams
        if isinstance(part, Operator):
            # Results go on without optional streams, so these do not end them.
            streams = tuple(s for s in streams if not self.query.streams[s].optional) or streams
        reaches = [self.query.reaches[stream] for stream in streams]
        return min((reach for reach in reaches if reach is not None), default=FOREVER_US)

    def lingers(self, operator: Operator, number: int) -> int:
        """How long rows of an input are kept beyond their end, microseconds, because others close later.

        A result with nulls leaves at the end of its required rows, which is at most one required window
        after the end of any other row of it: rows that end earlier are needed until then.

            required  |=====================|         closes here
            optional      |====|............|         is kept for it
        """
        if operator.kind == INNER or self.query.gap_us is not None:
            return 0
        if operator.kind in (SEMI, ANTI):
            return self.reach(operator.inputs[0]) if number else 0
        if operator.kind == FULL:
            return self.reach(operator.inputs[1 - number])
        if number in operator.required and isinstance(operator.inputs[number], Source):
            return 0
        lives = [self.query.reaches[s] for s in operator.streams if not self.query.streams[s].optional]
        # Rows of sessions, which have no such end, meet only when theirs has ended.
        return min((life for life in lives if life is not None), default=0)

    def own_ends(self, part: Source | Operator) -> OwnEnds | None:
        """How rows of an input get their ends; None where its reach says it, or the rows do as results."""
        return self.query.own_ends(part.stream) if isinstance(part, Source) else None

    def counted(self, operator: Operator) -> tuple[int, ...]:
        """The streams below an operator whose rows live until others have come after them."""
        return tuple(s for s in operator.streams if self.query.streams[s].window.counts_rows)

    def counted_whole(self, operator: Operator) -> tuple[int, ...]:
        """Those of them whose rows are counted whatever their key, so that every bucket needs all times."""
        return tuple(s for s in operator.streams if self.query.streams[s].window.counts_whole_stream)

    def waits(self, operator: Operator) -> bool:
        """Whether rows below an operator are joined only when the watermark has passed them."""
        return any(self.query.streams[stream].window.waits_for_watermark for stream in operator.streams)


def operators(part: Source | Operator) -> list[Operator]:
    """Every operator of a tree, those below before those above."""
    if isinstance(part, Source):
        return []
    return [*(found for child in part.inputs for found in operators(child)), part]
