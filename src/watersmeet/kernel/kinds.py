"""Who joins rows, by which of them come out without partners."""

from __future__ import annotations

from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.outer import OuterJoin
from watersmeet.kernel.semi import SemiJoin
from watersmeet.kernel.window import StoredWindow
from watersmeet.query.kind import ANTI, FULL, INNER, OUTER, SEMI

AnyJoin = MultiwayJoin | OuterJoin | SemiJoin

KINDS: dict[str, type[MultiwayJoin] | type[OuterJoin] | type[SemiJoin]] = {
    INNER: MultiwayJoin,
    OUTER: OuterJoin,
    FULL: OuterJoin,
    ANTI: OuterJoin,
    SEMI: SemiJoin,
}


def inside(join: AnyJoin) -> MultiwayJoin:
    """The join that finds combinations."""
    return join if isinstance(join, MultiwayJoin) else join.inner


def unkeyed(join: AnyJoin) -> dict[int, StoredWindow]:
    """The rows without a key that it keeps, by input."""
    return join.unkeyed if isinstance(join, OuterJoin) else {}
