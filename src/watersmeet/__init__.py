"""Watersmeet: continuous multi-way windowed stream joins on Apache Spark.

Example:
    >>> import watersmeet as wm
    >>> a = wm.stream("a", a_df, time="ts", window="10 minutes")
    >>> b = wm.stream("b", b_df, time="ts", window="1 hour")
    >>> result = wm.join(a, b, on="id").to_dataframe()
"""

from watersmeet.errors import WatersmeetError
from watersmeet.query.window import rows
from watersmeet.spark.api import Query, join, sql, stream
from watersmeet.spark.metrics import metrics
from watersmeet.spark.settings import recommended_settings

__version__ = "0.1.0"

__all__ = [
    "Query",
    "WatersmeetError",
    "__version__",
    "join",
    "metrics",
    "recommended_settings",
    "rows",
    "sql",
    "stream",
]
