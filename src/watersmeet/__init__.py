"""Watersmeet: continuous multi-way windowed stream joins on Apache Spark.

Example:
    >>> import watersmeet as wm
    >>> a = wm.stream("a", a_df, time="ts", window="10 minutes")
    >>> b = wm.stream("b", b_df, time="ts", window="1 hour")
    >>> result = wm.join(a, b, on="id").to_dataframe()
"""

from watersmeet.errors import WatersmeetError
from watersmeet.query.common_window import hopping, session
from watersmeet.query.function import predicate
from watersmeet.query.kind import optional
from watersmeet.query.network import Network, network
from watersmeet.query.window import UNBOUNDED, latest, rows, tumbling
from watersmeet.spark.api import join, sql, stream
from watersmeet.spark.configure import configure
from watersmeet.spark.files import files
from watersmeet.spark.host.report import metrics
from watersmeet.spark.kafka import kafka
from watersmeet.spark.kafka_lost import kafka_lost
from watersmeet.spark.kafka_packages import kafka_jars, kafka_packages
from watersmeet.spark.query import Query
from watersmeet.stats import Figure, Frequencies, Statistics
from watersmeet.stats.given import statistics

__version__ = "0.1.0"

__all__ = [
    "UNBOUNDED",
    "Figure",
    "Frequencies",
    "Network",
    "Query",
    "Statistics",
    "WatersmeetError",
    "__version__",
    "configure",
    "files",
    "hopping",
    "join",
    "kafka",
    "kafka_jars",
    "kafka_lost",
    "kafka_packages",
    "latest",
    "metrics",
    "network",
    "optional",
    "predicate",
    "rows",
    "session",
    "sql",
    "statistics",
    "stream",
    "tumbling",
]
