"""The connector to Kafka, which Spark does not come with: which packages it is, and where its jars are.

Of Spark's connector the newest that is published is 4.2.0, and of its part that handles tokens 4.0.0; both
run on Spark 4.2 and 4.3.
"""

from __future__ import annotations

from watersmeet.spark.jars import Jar, cache_folder, fetched

_CONNECTOR = (
    Jar(
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Jar(
        "org.apache.kafka:kafka-clients:3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons:commons-pool2:2.13.1",
        "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    ),
)
# By the version of Spark.
_CONNECTORS = {"4.2": _CONNECTOR, "4.3": _CONNECTOR}


def kafka_packages() -> tuple[str, ...]:
    """The packages of the connector to Kafka for the Spark that is installed, as Maven names them.

    All that the connector needs and Spark lacks is among them, so they can be fetched without what they
    depend on; one of those was never published, which is why ``spark.jars.packages`` fails.

    >>> kafka_packages()[0]
    'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'
    """
    return tuple(jar.coordinate for jar in _connector())


def kafka_jars() -> str:
    """The jars of these packages, as the setting ``spark.jars`` takes them; fetched at the first call.

    Example:
        builder = SparkSession.builder.config("spark.jars", wm.kafka_jars())

    Raises:
        watersmeet.spark.jars.JarsMissing: They cannot be fetched.
    """
    return ",".join(map(str, fetched(_connector(), cache_folder())))


def _connector() -> tuple[Jar, ...]:
    import pyspark

    version = ".".join(pyspark.__version__.split(".")[:2])
    # A version that is newer than this list is most likely to run with the newest connector.
    return _CONNECTORS.get(version, _CONNECTOR)
