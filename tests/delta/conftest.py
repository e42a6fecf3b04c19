"""A session with Delta. Where delta-spark is not installed, these tests are not collected.

`make test-spark SPARK=4.2` installs it and runs them by themselves: there it is a failure if none is found.
"""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import pytest
from pyspark.sql import SparkSession

from harness.delta import delta_settings
from harness.streaming import build_session

try:
    # Not by importing it: this folder is a package "delta" as well.
    version("delta-spark")
except PackageNotFoundError:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """As the session of all tests, with Delta, which Spark fetches: no other may have been there before."""
    session = build_session(tmp_path_factory.mktemp("delta"), settings=delta_settings())
    yield session
    session.stop()
