"""Keys with very many rows: how many keys a window holds, and which of them is hot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Metrics
from watersmeet.kernel.keytext import key_text
from watersmeet.kernel.numbers import text_numbers
from watersmeet.kernel.run import Run
from watersmeet.kernel.sampling import key_sample
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.plan.hot_rule import HotRule
from watersmeet.stats.key_sample import merged_sample

# The keys that people are told of; those that are spread have a larger share.
_TOLD = HotRule(rows=100, share=0.05)

_MOST_ROWS = "most rows of a key", ()


class HotKey(NamedTuple):
    """A key with very many rows in a window.

    Attributes:
        rows: How many.
        run: A run that holds it.
        key: Which key of that run.
    """

    rows: int
    run: Run
    key: int


class KeyFigures(NamedTuple):
    """What a sample says about the keys of a window.

    Attributes:
        distinct: How many different keys there are, about.
        usual: How many rows the key in the middle has: half of the keys have no more.
    """

    distinct: int
    usual: int


def key_figures(runs: Sequence[StoredRun]) -> KeyFigures:
    """The keys of a window: the number of sampled ones over the share that was sampled, and their median."""
    samples = [key_sample(stored.run) for stored in runs]
    sample = merged_sample([samples], [False])
    if not sample.keys:
        return KeyFigures(0, 0)
    rows = np.sort(sample.rows[:, 0])
    return KeyFigures(round(sample.keys / sample.share), int(rows[(sample.keys - 1) // 2]))


def hottest_key(
    runs: Sequence[StoredRun],
    figures: KeyFigures,
    wanted: Callable[[Any], Any] | None = None,
    rule: HotRule = _TOLD,
) -> HotKey | None:
    """The key with the most rows in a window, if it is a hot one or the only one.

    The most frequent key of each run is a candidate; a key that is hot in a window is most frequent in one of
    its runs unless its rows are spread thinner than those of others everywhere. Nothing in its window says
    whether the only key is hot: whoever knows the other buckets has to compare.

    Args:
        runs: The window.
        figures: What is known about its keys.
        wanted: Which keys count, by their hashes; None takes all.
        rule: What a hot key has.
    """
    opened = [stored.run for stored in runs]
    best: HotKey | None = None
    total = sum(run.rows for run in opened)
    enough = rule.enough(total, figures.usual if figures.distinct > 1 else 0)
    # As usual: no run has so many rows of any key.
    if len(opened) * max(map(_most_rows, opened), default=0) < enough:
        return None
    seen = set()
    for run in opened:
        if not len(run.key_hashes):
            continue
        counts = np.diff(run.key_rows)
        if wanted is not None:
            counts = np.where(wanted(run.key_hashes), counts, 0)
        key = int(np.argmax(counts))
        found = int(run.key_hashes[key])
        if not counts[key] or found in seen:
            continue
        seen.add(found)
        rows = rows_of_key(runs, found)
        if rows >= enough and (best is None or rows > best.rows):
            best = HotKey(rows, run, key)
    return best


def _most_rows(run: Run) -> int:
    """How many rows the most frequent key of a run has."""
    found: int | None = run.derived.get(_MOST_ROWS)
    if found is None:
        found = run.derived[_MOST_ROWS] = int(np.diff(run.key_rows).max(initial=0))
    return found


def rows_of_key(runs: Sequence[StoredRun], key: int) -> int:
    """How many rows have a key, by its hash."""
    return sum(len(_places(stored.run, key)) for stored in runs)


def last_end(window: StoredWindow, key: int) -> int | None:
    """Until when rows of a key live in a window, by its hash; None if it has none.

    Those that linger do it for rows that were alive with them.
    """
    ends = []
    for run in (stored.run for stored in window.runs):
        if rows := _places(run, key):
            some = slice(rows.start, rows.stop)
            last = run.times[some].max() + window.length if run.ends is None else run.ends[some].max()
            ends.append(int(last))
    return max(ends, default=None)


def _places(run: Run, key: int) -> range:
    """Where a run has the rows of a hash; two keys may have it."""
    hash_ = np.uint64(key)
    first = np.searchsorted(run.key_hashes, hash_)
    last = np.searchsorted(run.key_hashes, hash_, side="right")
    return range(int(run.key_rows[first]), int(run.key_rows[last]))


def key_metrics(
    windows: Sequence[StoredWindow],
    key_types: Sequence[tuple[pa.DataType, ...]],
    *,
    with_slot: bool = False,
    figures: Sequence[KeyFigures] = (),
    wanted: Callable[[Any], Any] | None = None,
) -> Metrics:
    """How many different keys a bucket holds of each input, and the one with the most rows if it is hot.

    The only key of an input is reported if there is no hot one; whoever adds reports up drops it unless it is
    hot.

    Args:
        windows: The windows of the inputs.
        key_types: Per input the types of its key; without any, its keys are not counted.
        with_slot: Whether a slot follows the key; keys are then those of a slot.
        figures: Per window what is known about its keys, where somebody has looked already.
        wanted: Which keys may be reported as hot, by their hashes; None takes all.
    """
    found: Metrics = {}
    hottest: tuple[tuple[bool, float, int], Metrics] | None = None
    for number, (types, window) in enumerate(zip(key_types, windows, strict=False)):
        if not types:
            continue
        known = figures[number] if figures else key_figures(window.runs)
        found[f"keys_{number}"] = known.distinct
        hot = hottest_key(window.runs, known, wanted)
        if hot is None:
            continue
        rank = known.distinct > 1, hot.rows / window.rows, hot.rows
        if hottest is None or rank > hottest[0]:
            words = text_numbers(key_text(hot.run, hot.key, types, with_slot=with_slot))
            text: Metrics = {f"hot_text_{place}": word for place, word in enumerate(words)}
            hottest = rank, text | {"hot_rows": hot.rows, "hot_of": window.rows, "hot_input": number}
    return found if hottest is None else found | hottest[1]
