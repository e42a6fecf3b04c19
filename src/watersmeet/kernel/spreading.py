"""Hot keys spread over all buckets: what the bucket that a key belongs to decides, batch after batch.

Rows of one input are dealt out over the buckets; those of the others go to every bucket. It is the one with
most rows of the key among those that every result has a row of, partners or not (`plan.dealing`), so a result
is found in one bucket. No stored row moves:

    event time ->  |-- found hot in this batch        |-- cool for some batches
    phase          | REPLICATE        | DEAL          | GATHER           | REST             | as before
    dealt input    | home             | dealt out     | home             | home             | home
    the others     | to all           | to all        | to all           | home             | home
                    until the watermark                until the watermark until the watermark
                    has passed the others'             has passed the      has passed the rows
                    rows that are here alone           rows dealt out      that all have

At rest a key that is hot again is spread as before: all buckets still have rows of the others, so none of
these can be dealt out now.

Why every result is found once, ties and late rows included, is in `docs/design/20261118-hot-keys.md`. A key
is known by its hash here: all rows of a hash take the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.hot_keys import KeyFigures, hottest_key, last_end, rows_of_key
from watersmeet.kernel.stored import stored_as
from watersmeet.kernel.window import StoredWindow
from watersmeet.plan.hot_rule import HotRule

REPLICATE, DEAL, GATHER, REST = "replicate", "deal", "gather", "rest"

# Before all times.
_NOTHING = -(1 << 62)
# Every one of them is a little work in every batch, for those who pack rows too.
_MOST_KEYS = 16
# No other input may have so many times the rows of the dealt one: all buckets store these.
_MOST_COPIED = 4


def homes(hashes: Any, buckets: int) -> Any:
    """The buckets that keys belong to, by their hashes."""
    # Both are the remainder; one takes a tenth of the time.
    powers = buckets & (buckets - 1) == 0
    number = hashes & np.uint64(buckets - 1) if powers else hashes % np.uint64(buckets)
    return number.astype(np.int16)


class Route(NamedTuple):
    """How rows of a spread key are sent.

    Attributes:
        key: The hash of the key.
        dealt: The input that has one row in one bucket; rows of the others go to all.
        deals: Whether its rows are dealt out now; if not, they go to the bucket of the key.
    """

    key: int
    dealt: int
    deals: bool


@stored_as("spread key")
@dataclass(slots=True)
class SpreadKey:
    """A key that is spread, or has been not long ago.

    Attributes:
        key: Its hash.
        dealt: The input whose rows are dealt out.
        phase: See above.
        until: The end of the last row that the next phase waits for.
        cool: For how many batches it has not been hot.
    """

    key: int
    dealt: int
    phase: str
    until: int
    cool: int = 0


@dataclass(slots=True)
class KeySpreader:
    """The keys of a bucket that are spread.

    Attributes:
        number: Which bucket.
        buckets: How many there are.
        may_deal: The inputs whose rows may be dealt out (`plan.dealing`).
        rule: When a key is spread; None spreads no more, and gathers those that are.
        keys: By hash.
        until: The end of the last row of a hot key, of any bucket, that has come.
    """

    number: int
    buckets: int
    may_deal: tuple[int, ...]
    rule: HotRule | None = field(default_factory=HotRule)
    keys: dict[int, SpreadKey] = field(default_factory=dict)
    until: int = _NOTHING

    @property
    def routes(self) -> tuple[Route, ...]:
        """How rows of these keys are sent from the next batch on."""
        spread = sorted((key, one) for key, one in self.keys.items() if one.phase != REST)
        return tuple(Route(key, one.dealt, one.phase == DEAL) for key, one in spread)

    def mine(self, hashes: Any) -> Any:
        """Which keys belong to this bucket."""
        return homes(hashes, self.buckets) == self.number

    def dealt(self, newest: Mapping[int, int], windows: Sequence[StoredWindow]) -> None:
        """Rows of keys have been dealt out in this batch: by key the newest of their times."""
        for key, time in newest.items():
            one = self.keys[key]
            one.until = max(one.until, time + windows[one.dealt].length)

    def rows_until(self, end: int) -> None:
        """Rows of hot keys have come, of this bucket or of others: until when they live at most."""
        self.until = max(self.until, end)

    def save(self) -> dict[str, Any]:
        """What to keep; nothing where no key ever was hot."""
        kept: dict[str, Any] = {"spread keys": list(self.keys.values())} if self.keys else {}
        return kept if self.until == _NOTHING else kept | {"hot rows until": self.until}

    def load(self, kept: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.keys = {one.key: one for one in kept.get("spread keys", ())}
        self.until = kept.get("hot rows until", _NOTHING)

    def step(self, watermark: int, windows: Sequence[StoredWindow], figures: Sequence[KeyFigures]) -> None:
        """All rows of a batch are stored, and the watermark has let go: what the next batch does."""
        for key, one in list(self.keys.items()):
            one.cool = 0 if self._is_hot(one, windows, figures) else one.cool + 1
            cooled = self.rule is None or one.cool >= self.rule.cool_batches
            reached = one.until <= watermark
            if one.phase == REPLICATE and reached and not cooled:
                one.phase, one.until = DEAL, _NOTHING
            elif one.phase == DEAL and cooled:
                one.phase = GATHER
            elif one.phase == GATHER and one.cool == 0:
                one.phase = DEAL
            elif (one.phase == REPLICATE and cooled) or (one.phase == GATHER and reached):
                one.phase, one.until = REST, _others_end(key, one.dealt, windows)
            elif one.phase == REST and one.cool == 0:
                one.phase, one.until = REPLICATE, _others_end(key, one.dealt, windows)
            elif one.phase == REST and reached:
                del self.keys[key]
        if self.rule is not None:
            self._find(windows, figures, self.rule)

    def _find(self, windows: Sequence[StoredWindow], figures: Sequence[KeyFigures], rule: HotRule) -> None:
        """Begin with the hottest key of every window that may be dealt out, if it is hot enough.

        Copies of rows of the others are dear: a key that has most of its rows there is left alone.
        """
        for part in self.may_deal:
            window, known = windows[part], figures[part]
            # Nothing says whether the only key is hot.
            if known.distinct < 2 or len(self.keys) >= _MOST_KEYS:
                continue
            hot = hottest_key(window.runs, known, wanted=self._new, rule=rule)
            if hot is not None:
                key = int(hot.run.key_hashes[hot.key])
                rows = [rows_of_key(other.runs, key) for other in windows]
                dealt = max(self.may_deal, key=rows.__getitem__)
                if max(rows) <= _MOST_COPIED * rows[dealt]:
                    self.keys[key] = SpreadKey(key, dealt, REPLICATE, _others_end(key, dealt, windows))

    def _new(self, hashes: Any) -> Any:
        return self.mine(hashes) & ~np.isin(hashes, np.array(list(self.keys), np.uint64))

    def _is_hot(self, one: SpreadKey, windows: Sequence[StoredWindow], figures: Sequence[KeyFigures]) -> bool:
        """Whether the dealt input still has half of what it takes for a key to be spread.

        If another one has far more by now, the key is gathered, and may be spread with that one dealt out.
        """
        if self.rule is None:
            return False
        window, known = windows[one.dealt], figures[one.dealt]
        here = rows_of_key(window.runs, one.key)
        # Of rows that are dealt out, those here are a sample.
        rows = here * (self.buckets if one.phase == DEAL else 1)
        if max(rows_of_key(other.runs, one.key) for other in windows) > 2 * _MOST_COPIED * rows:
            return False
        return 2 * rows >= self.rule.enough(window.rows - here + rows, known.usual)


def _others_end(key: int, dealt: int, windows: Sequence[StoredWindow]) -> int:
    """The end of the last row of a key that is not of the dealt input; the key's bucket has all of them."""
    ends = [last_end(window, key) for part, window in enumerate(windows) if part != dealt]
    return max((end for end in ends if end is not None), default=_NOTHING)
