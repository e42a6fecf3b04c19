"""The page about Kafka, with a broker.

Would catch: an example on it that was true once.
"""

import pytest
from pyspark.sql import SparkSession

from harness.broker import Broker
from harness.pages import KAFKA_PAGE, blocks, run_page

pytestmark = pytest.mark.kafka


def test_the_examples_of_the_page_print_what_stands_below_them(spark: SparkSession, broker: Broker) -> None:
    assert sum(language == "python" for language, _, _ in blocks(KAFKA_PAGE)) > 4
    broker.remove("orders", "payments", "paid")
    run_page(KAFKA_PAGE, {"spark": spark, "__name__": "__main__"}, old="127.0.0.1:9092", new=broker.servers)
