"""How groups report to the driver, and how users read it from the progress of a running query.

Every group reports one row per batch in a column of the operator's output; the row has no result time and is
filtered out after `DataFrame.observe` has collected the few reports as they are. They are added up when
somebody reads them: as an expression of Spark, that took half a second to build, as long to plan, and half a
screen of every error. A report is a list of numbers rather than a struct, since an Arrow struct that is
null still carries room for all its fields, for every result.

Numbers about the batch (rows, results) are sums over the groups. Numbers about the state (live tuples,
bytes) are sums over all buckets, and None in the rare batch in which some bucket did not report: a batch
without input, run only to let go of expired state. Probe paths are counted, and of hot keys the hottest kept.
A key that is alone in its bucket is compared with the keys of the other buckets, which only this place knows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from watersmeet.errors import InvalidProgress
from watersmeet.kernel.numbers import TEXT_WORDS, path_of, text_of
from watersmeet.spark.host.metrics import (
    METRICS_COLUMN,
    PATH,
    BatchMetrics,
    Fold,
    HotKey,
    PathUse,
    PredicateMetrics,
    StreamMetrics,
    metric_names,
    reported_fields,
)
from watersmeet.stats.key_sample import HOT_TIMES

if TYPE_CHECKING:
    from pyspark.sql import Column

_OBSERVED = "join"
_NAME = re.compile(r"watersmeet (\d+): ")
# So many hot keys are shown.
_HOTTEST = 5


def observation_name(number: int, streams: tuple[str, ...]) -> str:
    """What the observation of a join is called; numbered, since Spark wants a name of its own for each."""
    return f"watersmeet {number}: {', '.join(streams)}"


def joins_in(plan: str) -> list[int]:
    """The numbers of the joins in the text of a plan of Spark, in its order."""
    return [int(number) for number in re.findall(rf"CollectMetrics {_NAME.pattern}", plan)]


def observation(names: tuple[str, ...], functions: tuple[str, ...], buckets: int) -> Column:
    """The one aggregate to observe: the reports of all groups, and what is needed to read them."""
    from pyspark.sql import functions as F

    return F.struct(
        F.collect_list(METRICS_COLUMN).alias("reports"),
        F.lit(buckets).alias("buckets"),
        F.lit(list(names)).alias("streams"),
        F.lit(list(functions) or None).alias("functions"),
    ).alias(_OBSERVED)


def metrics(progress: Any) -> list[BatchMetrics]:
    """The metrics of every join in a query's progress report, in the order the joins were made.

    Args:
        progress: A `StreamingQueryProgress`, as in ``query.lastProgress`` or a listener's event. None, which
            is the last progress of a query before its first batch, has no metrics.

    Raises:
        InvalidProgress: It is something else.
    """
    if progress is None:
        return []
    if not (hasattr(progress, "observedMetrics") and hasattr(progress, "batchId")):
        raise InvalidProgress(
            "metrics are read from the progress of a query",
            f"this is a {type(progress).__name__}.",
            "pass query.lastProgress, one of query.recentProgress, or event.progress in a listener.",
        )
    observed = {name: row for name, row in progress.observedMetrics.items() if _NAME.match(name)}
    return [
        Reports(**_plain(observed[name])[_OBSERVED]).together(name, progress.batchId)
        for name in sorted(observed, key=_number)
    ]


class Reports:
    """What the groups of a join have reported of a batch."""

    def __init__(
        self,
        reports: Sequence[Sequence[int | None]],
        buckets: int,
        streams: Sequence[str],
        functions: Sequence[str] | None,
    ) -> None:
        """Say what the numbers mean.

        Args:
            reports: A list of numbers per group.
            buckets: How many buckets there are.
            streams: The names of the inputs.
            functions: The texts of the Python functions.
        """
        self._streams, self._functions = list(streams), list(functions or ())
        names = metric_names(len(self._streams), len(self._functions))
        self._reports = [dict(zip(names, report, strict=True)) for report in reports]
        self._everywhere = self._total("buckets") == buckets

    def together(self, name: str, batch: int) -> BatchMetrics:
        """All reports as one."""
        results, holder = self._total("results"), self._sum("holder")
        return BatchMetrics(
            name=name,
            batch=batch,
            **reported_fields(BatchMetrics, self._folded),
            rows_examined_per_result=self._total("rows_examined") / results if results else None,
            kernel_ms=self._total("kernel_us") / 1000,
            busiest_ms=max(self._each("kernel_us"), default=0) / 1000,
            watermark_held_by=None if holder is None else self._streams[holder],
            hot_keys=tuple(self._hottest()),
            streams={stream: self._stream(i) for i, stream in enumerate(self._streams)},
            predicates={
                text: PredicateMetrics(**reported_fields(PredicateMetrics, partial(self._folded, place=i)))
                for i, text in enumerate(self._functions)
            },
        )

    def _each(self, name: str) -> list[int]:
        """What was reported under a name."""
        return [number for report in self._reports if (number := report[name]) is not None]

    def _sum(self, name: str) -> int | None:
        """None if no group has reported it."""
        return sum(found) if (found := self._each(name)) else None

    def _total(self, name: str) -> int:
        return sum(self._each(name))

    def _folded(self, name: str, fold: Fold, place: int | None = None) -> int | None:
        full = name if place is None else f"{name}_{place}"
        if fold is Fold.SUM:
            return self._total(full)
        if fold is Fold.MOST:
            return max(self._each(full), default=None)
        # Of what only the ledger reports, the sum is the value.
        return self._sum(full) if fold is Fold.LEDGER or self._everywhere else None

    def _stream(self, i: int) -> StreamMetrics:
        paths = Counter(self._each(f"{PATH}_{i}"))
        return StreamMetrics(
            **reported_fields(StreamMetrics, partial(self._folded, place=i)),
            largest=max(self._each(f"live_{i}"), default=None) if self._everywhere else None,
            paths=tuple(PathUse(self._path(path), buckets) for path, buckets in paths.items()),
        )

    def _path(self, number: int) -> tuple[str, ...]:
        return tuple(self._streams[part] for part in path_of(number, len(self._streams)))

    def _hottest(self) -> list[HotKey]:
        """The hot keys with the most rows."""
        found = []
        for report in self._reports:
            rows, of, part = (report[f"hot_{name}"] for name in ("rows", "of", "input"))
            if rows is None or of is None or part is None:
                continue
            if rows < of or self._stands_out(rows, part):
                text = text_of([report[f"hot_text_{i}"] or 0 for i in range(TEXT_WORDS)])
                found.append(HotKey(self._streams[part], text, rows, rows / of if of else 0.0))
        return sorted(found, key=lambda one: one.rows, reverse=True)[:_HOTTEST]

    def _stands_out(self, rows: int, part: int) -> bool:
        """Whether a key that is alone in its bucket is hot, beside the average keys of half the buckets."""
        counted = [(report[f"live_{part}"], report[f"keys_{part}"]) for report in self._reports]
        averages = [live / keys for live, keys in counted if live is not None and keys]
        lower = [average for average in averages if average * HOT_TIMES <= rows]
        return len(lower) * 2 >= len(averages)


def _plain(value: Any) -> Any:
    """Rows as dictionaries. Spark Connect sends a row as its values and their schema, inner rows likewise."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"values", "schema"}:
        schema = _plain(value["schema"])
        fields_ = schema["fields"] if isinstance(schema, dict) else schema
        names = [field["name"] if isinstance(field, dict) else field.name for field in fields_]
        value = dict(zip(names, value["values"], strict=True))
    return {name: _plain(one) for name, one in value.items()}


def _number(name: str) -> int:
    found = _NAME.match(name)
    assert found is not None
    return int(found[1])
