"""Keys with very many rows: how many keys a window holds, and which of them is hot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Metrics
from watersmeet.kernel.keytext import key_text
from watersmeet.kernel.numbers import text_numbers
from watersmeet.kernel.run import Run
from watersmeet.kernel.sampling import key_sample
from watersmeet.kernel.window import StoredRun, StoredWindow
from watersmeet.stats.key_sample import HOT_TIMES, merged_sample


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


# A key is hot when it has this many rows, this share of its bucket's rows, and far more than the usual key.
_HOT_ROWS = 100
_HOT_SHARE = 0.05


def hottest_key(runs: Sequence[StoredRun], figures: KeyFigures) -> HotKey | None:
    """The key with the most rows in a window, if it is a hot one or the only one.

    The most frequent key of each run is a candidate; a key that is hot in a window is most frequent in one of
    its runs unless its rows are spread thinner than those of others everywhere. Nothing in its window says
    whether the only key is hot: whoever knows the other buckets has to compare.
    """
    opened = [stored.run for stored in runs]
    best: HotKey | None = None
    total = sum(run.rows for run in opened)
    least = max(_HOT_ROWS, _HOT_SHARE * total, HOT_TIMES * figures.usual if figures.distinct > 1 else 0)
    # As usual: no run has so many rows of any key.
    if len(opened) * max((int(np.diff(run.key_rows).max(initial=0)) for run in opened), default=0) < least:
        return None
    seen = set()
    for run in opened:
        if not len(run.key_hashes):
            continue
        key = int(np.argmax(np.diff(run.key_rows)))
        wanted = run.key_hashes[key]
        if int(wanted) in seen:
            continue
        seen.add(int(wanted))
        rows = sum(_rows_of(other, wanted) for other in opened)
        if rows >= least and (best is None or rows > best.rows):
            best = HotKey(rows, run, key)
    return best


def _rows_of(run: Run, wanted: np.uint64) -> int:
    at = int(np.searchsorted(run.key_hashes, wanted))
    if at < len(run.key_hashes) and run.key_hashes[at] == wanted:
        return int(run.key_rows[at + 1] - run.key_rows[at])
    return 0


def key_metrics(
    windows: Sequence[StoredWindow], key_types: Sequence[tuple[pa.DataType, ...]], *, with_slot: bool = False
) -> Metrics:
    """How many different keys a bucket holds of each input, and the one with the most rows if it is hot.

    The only key of an input is reported if there is no hot one; whoever adds reports up drops it unless it is
    hot.

    Args:
        windows: The windows of the inputs.
        key_types: Per input the types of its key; without any, its keys are not counted.
        with_slot: Whether a slot follows the key; keys are then those of a slot.
    """
    found: Metrics = {}
    hottest: tuple[tuple[bool, float, int], Metrics] | None = None
    for number, (types, window) in enumerate(zip(key_types, windows, strict=False)):
        if not types:
            continue
        figures = key_figures(window.runs)
        found[f"keys_{number}"] = figures.distinct
        hot = hottest_key(window.runs, figures)
        if hot is None:
            continue
        rank = figures.distinct > 1, hot.rows / window.rows, hot.rows
        if hottest is None or rank > hottest[0]:
            words = text_numbers(key_text(hot.run, hot.key, types, with_slot=with_slot))
            text: Metrics = {f"hot_text_{place}": word for place, word in enumerate(words)}
            hottest = rank, text | {"hot_rows": hot.rows, "hot_of": window.rows, "hot_input": number}
    return found if hottest is None else found | hottest[1]
