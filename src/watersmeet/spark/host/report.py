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

from typing import TYPE_CHECKING

from watersmeet.kernel.numbers import TEXT_WORDS
from watersmeet.spark.host.metrics import (
    METRICS_COLUMN,
    OBSERVED,
    PATH,
    BatchMetrics,
    Fold,
    PredicateMetrics,
    StreamMetrics,
    folded,
    metric_names,
)
from watersmeet.stats.key_sample import HOT_TIMES

if TYPE_CHECKING:
    from pyspark.sql import Column

# So many hot keys are shown.
_HOTTEST = 5


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

    def each(name: str) -> Column:
        return F.transform(reports, lambda report: F.get(report, F.lit(places[name])))

    everywhere = total("buckets") == F.lit(buckets)

    def fold(fold: Fold, name: str) -> Column:
        if fold is Fold.SUM:
            return total(name)
        if fold is Fold.STATE:
            return F.when(everywhere, reported(name))
        # Of what only the ledger reports, the sum is the value.
        return F.array_max(each(name)) if fold is Fold.MOST else reported(name)

    def all_of(kind: type, number: int | None = None) -> list[Column]:
        place = "" if number is None else f"_{number}"
        return [fold(how, name + place).alias(name) for name, how in folded(kind).items()]

    def of_stream(i: int) -> Column:
        largest = F.when(everywhere, F.array_max(each(f"live_{i}"))).alias("largest")
        return F.struct(*all_of(StreamMetrics, i), largest, _counted(each(f"{PATH}_{i}")).alias("paths"))

    holder = F.get(F.array(*[F.lit(name) for name in names]), reported("holder").cast("int"))
    return F.struct(
        *all_of(BatchMetrics),
        F.try_divide(total("rows_examined"), total("results")).alias("rows_examined_per_result"),
        (total("kernel_us") / F.lit(1000)).alias("kernel_ms"),
        holder.alias("watermark_held_by"),
        _hottest(reports, places).alias("hot_keys"),
        F.struct(*[of_stream(i).alias(name) for i, name in enumerate(names)]).alias("streams"),
        F.array(
            *[
                F.struct(F.lit(text).alias("text"), *all_of(PredicateMetrics, i))
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
            F.slice(report, places["hot_text_0"] + 1, TEXT_WORDS).alias("text"),
        ),
    )
    hot = F.filter(found, lambda one: (one["rows"] < one["of"]) | _stands_out(one, reports, places))
    return F.slice(F.sort_array(hot, asc=False), 1, _HOTTEST)


def _stands_out(alone: Column, reports: Column, places: dict[str, int]) -> Column:
    """Whether a key that is alone in its bucket is hot: next to the average keys of half of the buckets."""
    from pyspark.sql import functions as F

    def of_stream(report: Column, name: str) -> Column:
        return F.get(
            report, (alone["input"] * len([*folded(StreamMetrics), PATH]) + places[f"{name}_0"]).cast("int")
        )

    averages = F.filter(
        F.transform(reports, lambda one: F.try_divide(of_stream(one, "live"), of_stream(one, "keys"))),
        lambda average: average.isNotNull(),
    )
    lower = F.filter(averages, lambda average: average * HOT_TIMES <= alone["rows"])
    return F.size(lower) * 2 >= F.size(averages)
