"""What wm.kafka says without its connector, and what is known without a broker.

Would catch: an error of Spark that names no packages, records counted as lost that are not.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from watersmeet.spark.jars import Jar, JarsMissing, fetched
from watersmeet.spark.kafka import ConnectorMissing
from watersmeet.spark.kafka_decoding import decoder
from watersmeet.spark.kafka_packages import kafka_packages


def test_without_the_connector_its_packages_are_named(spark: SparkSession) -> None:
    with pytest.raises(ConnectorMissing) as error:
        wm.kafka(spark, servers="127.0.0.1:9092", topics="orders", schema="id BIGINT")
    assert all(package in str(error.value) for package in kafka_packages())
    assert "wm.kafka_jars()" in str(error.value)


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JarsMissing, match=r"(?s)no room for jars.*XDG_CACHE_HOME"):
        fetched([Jar("a:b:1", "")], tmp_path / "file" / "jars")


def test_a_jar_that_is_not_what_it_should_be_is_refused(tmp_path: Any) -> None:
    (tmp_path / "b-1.jar").write_bytes(b"something else")
    with pytest.raises(JarsMissing, match=r"b-1\.jar is not what it should be"):
        fetched([Jar("a:b:1", "0" * 64)], tmp_path)


def progress(*sources: tuple[Any, Any, int]) -> Any:
    made = [
        SimpleNamespace(description=f"KafkaV2[Subscribe[{n}]]", startOffset=s, endOffset=e, numInputRows=rows)
        for n, (s, e, rows) in enumerate(sources)
    ]
    other = SimpleNamespace(description="FileStreamSource", startOffset="{}", endOffset="{}", numInputRows=0)
    return SimpleNamespace(sources=[*made, other])


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        (('{"a":{"0":5}}', '{"a":{"0":15}}', 10), {}),
        (('{"a":{"0":5}}', '{"a":{"0":15}}', 7), {"a": 3}),
        (({"a": {"0": 5}}, {"a": {"0": 15}}, 7), {"a": 3}),
        # A new partition begins at 0; of the first batch nobody knows where it began.
        (('{"a":{"0":5}}', '{"a":{"0":5,"1":4}}', 1), {"a": 3}),
        ((None, '{"a":{"0":5}}', 1), {}),
        # Made anew: its offsets begin again.
        (('{"a":{"0":50}}', '{"a":{"0":2}}', 2), {}),
        (('{"a":{"0":0},"b":{"0":0}}', '{"a":{"0":3},"b":{"0":3}}', 5), {"a, b": 1}),
    ],
)
def test_what_is_lost_follows_from_offsets_and_rows(source: Any, lost: dict[str, int]) -> None:
    assert wm.kafka_lost(progress(source)) == lost
    assert wm.kafka_lost(None) == {}


@pytest.mark.parametrize("options", [{}, {"allowSingleQuotes": "true"}, {"allowComments": "true"}])
def test_what_follows_an_object_is_never_left_out_in_silence(
    spark: SparkSession, options: dict[str, str]
) -> None:
    """Whatever is allowed in JSON beyond the usual."""
    made = decoder("json", "id BIGINT", options)
    texts = [
        '{"id": 1}',
        ' {"id": 1} ',
        '{"id": 1}{"id": 2}',
        '{"id": 1}, {"id": 2}',
        '{"id": 1} x',
        "[]",
        "",
    ]
    values = spark.createDataFrame([(text.encode(),) for text in texts], "value BINARY").coalesce(1)
    value = F.col("value")
    records = values.select(value, made.record(value).alias("record"))
    found = records.select(made.malformed(value, F.col("record")).alias("bad")).collect()
    assert [row.bad for row in found] == [False, False, True, True, True, True, True]
