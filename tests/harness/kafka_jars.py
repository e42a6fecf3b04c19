"""The jars that `make test-kafka` needs: fetched once, checked, kept outside git.

As a program it fetches them. Where that is impossible it says so in one line and returns 77, and 1 under CI.
"""

import os
import sys
from pathlib import Path

from watersmeet.spark.jars import Jar, JarsMissing, cache_folder, fetched
from watersmeet.spark.kafka_packages import kafka_jars

SKIPPED = 77
# Spark's module for Avro; the newest that is published.
_AVRO = Jar(
    "org.apache.spark:spark-avro_2.13:4.1.1",
    "6a19d90bc3b6e88d8db0fa36a19273aa10fea2dbd7a62bb60e4cedd73051b32d",
)


def broker_jars() -> list[Path]:
    """All that a broker of Kafka consists of."""
    lines = (Path(__file__).parents[1] / "kafka" / "broker.jars").read_text().splitlines()
    return fetched([Jar(*line.split()) for line in lines], cache_folder())


def session_jars() -> str:
    """What the Spark session of the tests needs, for ``spark.jars``."""
    return ",".join([kafka_jars(), *map(str, fetched([_AVRO], cache_folder()))])


def main() -> int:
    """Fetch all; returns the exit code."""
    try:
        broker_jars()
        session_jars()
    except JarsMissing as error:
        print(f"make test-kafka is skipped: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
