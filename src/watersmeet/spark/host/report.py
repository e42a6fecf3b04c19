"""How groups report to the driver: counted by the operator, carried by `DataFrame.observe`.

Every group reports one row per batch in a column of the operator's output; the row has no result time
and is filtered out after the observation. The observation is a single aggregate that collects the few
reports and adds them up at the end: one aggregate per number would be evaluated for every result, and took
a third of Spark's time when we measured it. A report is a list of numbers rather than a struct, since an
Arrow struct that is null still carries room for all its fields, for every result.

Numbers about the batch (rows, results) are sums over the groups. Numbers about the state (live tuples,
bytes) are sums over all buckets, and null in the rare batch in which some bucket did not report: a batch
without input, run only to let go of expired state. Probe paths are counted, and of hot keys the hottest kept.
A key that is alone in its bucket is compared with the keys of the other buckets, which only this place knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from watersmeet.plan import ProbePath
from watersmeet.stats.key_sample import HOT_TIMES

if TYPE_CHECKING:
    from pyspark.sql import Column

METRICS_COLUMN = "__metrics"
OBSERVED = "join"

TOTALS = ("buckets", "results", "rows_examined", "lookups", "path_changes", "kernel_us", "scans", "merges")
# The memory of the worker that takes most.
WORKER = "worker_bytes"
SUMS = ("rows", "late", "null_keys", "null_times", "future_times")
STATE = ("live", "state_bytes", "memory_bytes")
KEYS = "keys"
NEWEST = "newest_us"
# The rows of the bucket that holds most.
LARGEST = "largest"
# Of every Python function: pairs it was asked about, for how many it held, how long that took, and about how
# many it said something else when it was asked again.
FUNCTION = ("pairs", "held", "asked_us", "unlike")
PATH = "path"
_PER_STREAM = (*SUMS, *STATE, KEYS, NEWEST, PATH)
_HOLDER = "holder"
# The hottest key of a bucket: how many rows it has in which input, of how many, and its text.
_HOT = ("hot_rows", "hot_of", "hot_input")
# A text in numbers of eight bytes; the rest of a longer one is cut off.
_TEXT_WORDS = 8
_HOTTEST = 5

# Inputs in a number, four bits each.
_PATH_BITS = 4
_LONGEST_PATH = 15


def metric_names(streams: int, functions: int) -> list[str]:
    """What the numbers of a report mean, in their order."""
    per_stream = [f"{name}_{i}" for i in range(streams) for name in _PER_STREAM]
    per_function = [f"{name}_{i}" for i in range(functions) for name in FUNCTION]
    return [
        *TOTALS,
        WORKER,
        *per_stream,
        *per_function,
        _HOLDER,
        *_HOT,
        *(f"hot_text_{i}" for i in range(_TEXT_WORDS)),
    ]


def path_number(path: ProbePath) -> int | None:
    """A path as a number; None for one with too many inputs.

    >>> path_of(path_number(ProbePath(0, (2, 1))), 3)
    (0, 2, 1)
    """
    sequence = path.sequence
    if len(sequence) > _LONGEST_PATH:
        return None
    return sum(part << (_PATH_BITS * place) for place, part in enumerate(sequence))


def path_of(number: int, inputs: int) -> tuple[int, ...]:
    """The order of inputs a number stands for."""
    return tuple((number >> (_PATH_BITS * place)) & ((1 << _PATH_BITS) - 1) for place in range(inputs))


def hot_key_numbers(rows: int, of: int, part: int, text: str) -> dict[str, int | None]:
    """A hot key as it is reported."""
    # Shown in a line, and told apart from others: no control characters, and no cut that cannot be seen.
    shown = text if text.isprintable() and text.strip() == text and text else repr(text)
    data = shown.encode()
    if len(data) > 8 * _TEXT_WORDS:
        data = data[: 8 * _TEXT_WORDS - 3].decode(errors="ignore").encode() + "…".encode()
    data = data.ljust(8 * _TEXT_WORDS, b"\0")
    words = [int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data), 8)]
    found: dict[str, int | None] = dict(zip(_HOT, (rows, of, part), strict=True))
    found.update({f"hot_text_{i}": word for i, word in enumerate(words)})
    return found


def text_of(words: Sequence[int]) -> str:
    """The text some numbers stand for.

    >>> numbers = hot_key_numbers(3, 4, 0, "Zürich")
    >>> text_of([word for name, word in numbers.items() if name.startswith("hot_text")])
    'Zürich'
    """
    data = b"".join(word.to_bytes(8, "little", signed=True) for word in words)
    return data.rstrip(b"\0").decode(errors="ignore")


def observation(names: tuple[str, ...], functions: tuple[str, ...], buckets: int) -> Column:
    """The one aggregate to observe: a struct with totals, one struct per stream and one per function."""
    from pyspark.sql import functions as F

    # Paths and texts are added up with the rest, which means nothing and may overflow.
    nothing = F.array_repeat(F.lit(None).cast("bigint"), len(metric_names(len(names), len(functions))))
    # Named inside a lambda, something is computed once however often it is referred to.
    summary = F.transform(
        F.array(F.struct(F.collect_list(F.col(METRICS_COLUMN)).alias("reports"))),
        lambda all_: F.get(
            F.transform(
                F.array(
                    F.aggregate(
                        all_["reports"],
                        nothing,
                        lambda sums, report: F.zip_with(
                            sums, report, lambda sum_, x: F.coalesce(F.try_add(sum_, x), sum_, x)
                        ),
                    )
                ),
                lambda sums: _summary(all_["reports"], sums, names, functions, buckets),
            ),
            F.lit(0),
        ),
    )
    return F.get(summary, F.lit(0)).alias(OBSERVED)


def _summary(
    reports: Column, sums: Column, names: tuple[str, ...], functions: tuple[str, ...], buckets: int
) -> Column:
    from pyspark.sql import functions as F

    places = {name: place for place, name in enumerate(metric_names(len(names), len(functions)))}

    def reported(name: str) -> Column:
        """Null if no group has reported it."""
        return F.get(sums, F.lit(places[name]))

    def total(name: str) -> Column:
        return F.coalesce(reported(name), F.lit(0))

    def of_stream(i: int) -> Column:
        everywhere = total("buckets") == F.lit(buckets)
        counts = [total(f"{kind}_{i}").alias(kind) for kind in SUMS]
        state = [F.when(everywhere, total(f"{kind}_{i}")).alias(kind) for kind in STATE]
        state.append(F.when(everywhere, reported(f"{KEYS}_{i}")).alias(KEYS))
        rows = F.transform(reports, lambda report: F.get(report, F.lit(places[f"live_{i}"])))
        state.append(F.when(everywhere, F.array_max(rows)).alias(LARGEST))
        paths = F.transform(reports, lambda report: F.get(report, F.lit(places[f"{PATH}_{i}"])))
        # Only the ledger reports it, so the sum is the value.
        newest = reported(f"{NEWEST}_{i}").alias(NEWEST)
        return F.struct(*counts, *state, newest, _counted(paths).alias("paths"))

    holder = F.get(F.array(*[F.lit(name) for name in names]), reported(_HOLDER).cast("int"))
    return F.struct(
        total("results").alias("results"),
        total("rows_examined").alias("rows_examined"),
        F.try_divide(total("rows_examined"), total("results")).alias("rows_examined_per_result"),
        total("lookups").alias("lookups"),
        total("path_changes").alias("path_changes"),
        (total("kernel_us") / F.lit(1000)).alias("kernel_ms"),
        total("scans").alias("scans"),
        total("merges").alias("merges"),
        F.array_max(F.transform(reports, lambda report: F.get(report, F.lit(places[WORKER])))).alias(WORKER),
        holder.alias("watermark_held_by"),
        _hottest(reports, places).alias("hot_keys"),
        F.struct(*[of_stream(i).alias(name) for i, name in enumerate(names)]).alias("streams"),
        F.array(
            *[
                F.struct(F.lit(text).alias("text"), *[total(f"{name}_{i}").alias(name) for name in FUNCTION])
                for i, text in enumerate(functions)
            ]
        ).alias("predicates"),
    )


def _counted(paths: Column) -> Column:
    """Every path with the number of buckets that take it."""
    from pyspark.sql import functions as F

    return F.transform(
        F.array_distinct(F.filter(paths, lambda path: path.isNotNull())),
        lambda path: F.struct(
            path.alias("path"),
            F.size(F.filter(paths, lambda other: other == path)).alias("buckets"),
        ),
    )


def _hottest(reports: Column, places: dict[str, int]) -> Column:
    """The hot keys with the most rows."""
    from pyspark.sql import functions as F

    found = F.transform(
        F.filter(reports, lambda report: F.get(report, F.lit(places["hot_rows"])).isNotNull()),
        lambda report: F.struct(
            F.get(report, F.lit(places["hot_rows"])).alias("rows"),
            F.get(report, F.lit(places["hot_of"])).alias("of"),
            F.get(report, F.lit(places["hot_input"])).alias("input"),
            F.slice(report, places["hot_text_0"] + 1, _TEXT_WORDS).alias("text"),
        ),
    )
    hot = F.filter(found, lambda one: (one["rows"] < one["of"]) | _stands_out(one, reports, places))
    return F.slice(F.sort_array(hot, asc=False), 1, _HOTTEST)


def _stands_out(alone: Column, reports: Column, places: dict[str, int]) -> Column:
    """Whether a key that is alone in its bucket is hot: next to the average keys of half of the buckets."""
    from pyspark.sql import functions as F

    def of_stream(report: Column, name: str) -> Column:
        return F.get(report, (alone["input"] * len(_PER_STREAM) + places[f"{name}_0"]).cast("int"))

    averages = F.filter(
        F.transform(reports, lambda one: F.try_divide(of_stream(one, "live"), of_stream(one, KEYS))),
        lambda average: average.isNotNull(),
    )
    lower = F.filter(averages, lambda average: average * HOT_TIMES <= alone["rows"])
    return F.size(lower) * 2 >= F.size(averages)
