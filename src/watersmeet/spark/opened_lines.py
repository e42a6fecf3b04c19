"""Files of JSON and CSV whose simple lines the workers read themselves, and what they are told.

Packing comes to the same rows as where Spark reads the files: it has the odd lines from Spark, judged as any
row, and judges the simple ones itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from watersmeet.query.expression import Expression
from watersmeet.spark.files import LATEST, FileSource, listed
from watersmeet.spark.host.computed import Packed, columns_in
from watersmeet.spark.host.open_lines import LineColumns
from watersmeet.spark.line_files import FILE, SIZE, line_file, split_lines
from watersmeet.spark.prepare import BELIEVED, WANTED, latest_micros, prepared_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from watersmeet.plan import Plan


def opened_lines(
    plan: Plan,
    number: int,
    source: FileSource,
    packed: Sequence[Packed],
    time: int | None,
    condition: Expression | None,
) -> tuple[DataFrame, LineColumns] | None:
    """What goes to the workers that pack, and what they make of it; None where Spark has to read.

    Args:
        plan: The plan.
        number: The stream.
        source: Where its files are.
        packed: What is packed.
        time: Which of them is the time, if not every time is believed; None believes all.
        condition: What rows have to fulfil; None wants all.
    """
    stream = plan.query.streams[number]
    spark = stream.source.sparkSession
    file = line_file(spark, source, columns_in(packed, condition))
    if not file.pays(source.path):
        return None
    beside = [F.col(FILE), F.col(SIZE)]
    if time is not None:
        beside.append(latest_micros(stream).alias(LATEST))
    rows = split_lines(listed(spark, stream.source, None), file, source.schema)
    left = F.col(FILE).isNotNull()
    prepared = prepared_source(plan, number, rows, streaming=True, left=left, beside=beside)
    names = prepared.columns[: -len(beside)]
    places = {field.name: place for place, field in enumerate(file.form.fields)}
    taken = [places[one] if isinstance(one, str) else one for one in packed]
    believed = None if time is None else names.index(BELIEVED)
    wanted = None if condition is None else names.index(WANTED)
    rest = [None] * (len(names) - len(packed))
    return prepared, LineColumns(file, (*taken, *rest), time, believed, condition, wanted)
