"""Topics of Kafka as DataFrames: records decoded, where they stand, and which of them cannot be used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from watersmeet.errors import choices
from watersmeet.spark.endpoints import InvalidEndpoint, texts
from watersmeet.spark.kafka_packages import kafka_packages
from watersmeet.spark.kafka_records import SIMPLE, RecordSource, is_simple, note_records
from watersmeet.spark.session import said_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from watersmeet.spark.kafka_decoding import Decoder

# Where the record of a row stands.
COORDINATES = {
    "kafka_key": "key",
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_time": "timestamp",
}
RECORD_TIME = "kafka_time"

# While a record is decoded: its bytes, whether it is simple, what became of them, and why it cannot be used.
_VALUE, _SIMPLE, _RECORD, _REASON = "__value", "__simple", "__record", "__reason"


class ConnectorMissing(InvalidEndpoint):
    """Spark runs without its connector to Kafka."""


Starting = str | datetime | Mapping[str, Mapping[int, int]]


def kafka(
    spark: SparkSession,
    *,
    servers: str | Sequence[str],
    topics: str | Sequence[str],
    schema: str | StructType | None = None,
    decode: str = "json",
    starting: Starting = "earliest",
    fail_on_data_loss: bool = True,
    options: Mapping[str, Any] | None = None,
    decode_options: Mapping[str, Any] | None = None,
    streaming: bool = True,
) -> DataFrame:
    """Read topics of Kafka as a DataFrame for `stream`.

    Its columns are those of `schema`, where the record stands (``kafka_key`` as bytes, ``kafka_topic``,
    ``kafka_partition``, ``kafka_offset``, and ``kafka_time``, the time Kafka has for it), and
    ``kafka_problem``, which `stream` knows: a record that cannot be decoded ("malformed"), or that has no
    value ("tombstone"), has nulls in the columns of `schema`. A join sets it aside with this reason, where it
    stands and what came. Keep that column if you select columns before the join.

    Args:
        spark: The session. It needs the connector, see `kafka_jars`.
        servers: Some of the brokers, ``"host:9092"``.
        topics: The topics.
        schema: The columns of a record as in SQL, ``"id BIGINT, ts TIMESTAMP"``; of Avro its schema as JSON.
        decode: ``"json"``, ``"csv"``, ``"avro"`` where Spark's module for it is present, or ``"raw"``, which
            has the bytes in a column ``value`` and takes no schema.
        starting: Where a new query starts: ``"earliest"``, ``"latest"``, a time, or an offset for every
            partition, ``{"orders": {0: 17}}``. A query with a checkpoint goes on where it was.
        fail_on_data_loss: Whether a query fails when records are gone before they were read. If not,
            `kafka_lost` tells how many.
        options: Options of Spark's source, such as ``maxOffsetsPerTrigger``, or ``kafka.security.protocol``.
        decode_options: Options of Spark's ``from_json``, ``from_csv`` or ``from_avro``, such as
            ``timestampFormat``.
        streaming: False reads what is there as a plain DataFrame.

    Raises:
        ConnectorMissing: Spark runs without its connector.
        InvalidEndpoint: The description makes no sense.
    """
    from watersmeet.spark.kafka_decoding import decoder

    made = decoder(decode, schema, texts(decode_options))
    _refuse_clashes(made.names)
    said = {
        "kafka.bootstrap.servers": _listed("servers", servers),
        "subscribe": _listed("topics", topics),
        "failOnDataLoss": str(fail_on_data_loss).lower(),
        **_starting(starting),
        **texts(options),
    }
    raw = _load(spark, said, streaming=streaming)
    found = _decoded(raw, made)
    if made.simple is not None and _decodes_as_usual(spark):
        note_records(found, RecordSource(_decoded(raw, made, leave_simple=True), made.simple))
    return found


def _decoded(raw: DataFrame, made: Decoder, *, leave_simple: bool = False) -> DataFrame:
    """Records with their columns, where they stand, and what is wrong with them.

    Args:
        raw: As the connector gives them.
        made: How they are decoded.
        leave_simple: Whether simple records are left as they are, in one more column.
    """
    from pyspark.sql import functions as F

    from watersmeet.spark.host.set_aside import MALFORMED, TOMBSTONE
    from watersmeet.spark.problem import problem

    where = [F.col(column).alias(name) for name, column in COORDINATES.items()]
    # In steps, so that a record is decoded once whatever is asked of it.
    value, record, reason, simple = F.col(_VALUE), F.col(_RECORD), F.col(_REASON), F.col(_SIMPLE)
    records = raw.select(F.col("value").alias(_VALUE), *where).withColumn(
        _SIMPLE, is_simple(value, made.simple)
    )
    own = made.record(value)
    records = records.withColumn(_RECORD, F.when(~simple, own) if leave_simple else own)
    # To decode a record shows whether it begins with an object, and not whether that is all there is.
    wrong = F.when(value.isNull(), TOMBSTONE).when(~simple & made.malformed(value, record), MALFORMED)
    records = records.withColumn(_REASON, wrong)
    # What is left of a record that cannot be used must not be joined.
    columns = [F.when(reason.isNull(), record.getField(name)).alias(name) for name in made.names]
    if leave_simple:
        columns.append(F.when(simple, value).alias(SIMPLE))
    return records.select(*columns, *COORDINATES, problem(reason, value))


def _decodes_as_usual(spark: SparkSession) -> bool:
    """Whether times are read as Spark reads them since 3.0."""
    return str(spark.conf.get("spark.sql.legacy.timeParserPolicy", "CORRECTED")).upper() != "LEGACY"


def _load(spark: SparkSession, said: Mapping[str, str], *, streaming: bool) -> DataFrame:
    from pyspark.errors import PySparkException

    reader = (spark.readStream if streaming else spark.read).format("kafka").options(**said)
    try:
        raw = reader.load()
        # A client of Spark Connect asks the server only now.
        raw.columns  # noqa: B018
    except PySparkException as error:
        if (
            "Failed to find data source: kafka" in str(error)
            or error.getCondition() == "DATA_SOURCE_NOT_FOUND"
        ):
            raise connector_missing() from None
        raise InvalidEndpoint(
            "Kafka cannot be read", said_by(error), "check the topics, starting= and options=."
        ) from None
    return raw


def connector_missing() -> ConnectorMissing:
    """What to say, and what to do."""
    return ConnectorMissing(
        "Spark runs without its connector to Kafka",
        "it is in the packages\n  " + "\n  ".join(kafka_packages()),
        'start the session with them: wm.configure(SparkSession.builder).config("spark.jars", '
        "wm.kafka_jars()), which fetches them once; or give these files to spark-submit --jars.",
    )


def _listed(what: str, given: Any) -> str:
    items = [given] if isinstance(given, str) else list(given)
    if not items or not all(isinstance(item, str) and item.strip() for item in items):
        raise InvalidEndpoint(
            f"{what} of Kafka cannot be {given!r}",
            "they are names.",
            f'write {what}="one" or {what}=["one", "two"].',
        )
    return ",".join(items)


def _starting(starting: Any) -> dict[str, str]:
    if starting in ("earliest", "latest"):
        return {"startingOffsets": starting}
    if isinstance(starting, datetime) and starting.tzinfo is not None:
        # Without the second, a topic whose records are all older would be an error.
        by_time = {"startingTimestamp": str(round(starting.timestamp() * 1000))}
        return by_time | {"startingOffsetsByTimestampStrategy": "latest"}
    if isinstance(starting, Mapping) and all(isinstance(one, Mapping) for one in starting.values()):
        offsets = {topic: {str(part): at for part, at in one.items()} for topic, one in starting.items()}
        return {"startingOffsets": json.dumps(offsets)}
    raise InvalidEndpoint(
        f"a query cannot start at {starting!r}",
        "that is no place in a topic.",
        'say "earliest", "latest", a datetime with a time zone, or offsets: {"orders": {0: 17}}.',
    )


def _refuse_clashes(names: Sequence[str]) -> None:
    from watersmeet.spark.problem import PROBLEM

    taken = {*COORDINATES, PROBLEM}
    if clashes := [name for name in names if name.lower() in taken]:
        raise InvalidEndpoint(
            f"the schema has {choices(clashes)}",
            "columns of that name say where a record of Kafka stands, and what is wrong with it.",
            "leave it out of the schema, or read it under another name.",
        )
