"""A checkpoint on an object store: `make test-s3` runs this against an S3 server on loopback.

Would catch: state or metadata that needs a file system with renames, a restart that does not find its state.
"""

import contextlib
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness import programs
from harness.cluster import free_port, wait_for_port
from harness.scenario import Scenario
from harness.streaming import result_values, sink_rows
from oracles.reference import assert_same_rows

JARS = os.environ.get("WATERSMEET_S3_JARS", "")
SERVER = os.environ.get("WATERSMEET_S3_SERVER", "")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not (JARS and SERVER), reason="make test-s3 fetches the server and the connector"),
]


@contextlib.contextmanager
def s3_server(folder: Path, bucket: str) -> Iterator[str]:
    """A server with an empty bucket; its address."""
    port = free_port()
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=log,
            env=os.environ | {"PYTHONPATH": SERVER},
            start_new_session=True,
        )
    try:
        wait_for_port(port)
        address = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{address}/{bucket}", method="PUT")).close()  # noqa: S310
        yield address
    finally:
        programs.kill(server)


def test_a_checkpoint_on_s3(spark: SparkSession, tmp_path: Path) -> None:
    """Stopped and started again: all that the second application knows is on the server."""
    scenario = Scenario(tmp_path, late_rows=True)
    settings = {
        "spark.jars": ",".join(map(str, sorted(Path(JARS).glob("*.jar")))),
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "anybody",
        "spark.hadoop.fs.s3a.secret.key": "anything",
        # Without it uploads of the state to this server failed with "Status Code: 100".
        "spark.hadoop.fs.s3a.optimized.copy.from.local.enabled": "false",
        # What wm.configure leaves alone on a cluster; here the test has to take it back.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
        ),
        "checkpoint": "s3a://joins/orders",
    }
    with s3_server(tmp_path, "joins") as address:
        settings["spark.hadoop.fs.s3a.endpoint"] = address
        for start in range(2):
            scenario.feed(2)
            programs.run(
                "harness.application",
                tmp_path,
                "8,5,10",
                "2,0,3",
                "local[2]",
                *(f"{name}={value}" for name, value in settings.items()),
                log=tmp_path / f"application-{start}.log",
                timeout=500,
            )
            assert_same_rows(result_values(sink_rows(spark, tmp_path)), scenario.expected())
    assert not (tmp_path / "checkpoint").exists()
