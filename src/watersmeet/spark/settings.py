"""Spark settings: those that suit the join, and those that would break it."""

from __future__ import annotations

import os
from typing import Any

from watersmeet.errors import InvalidSettings
from watersmeet.spark.master import cores_of, usable_cores

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
DAEMON = "spark.python.daemon.module"
DRIVER_JAVA = "spark.driver.extraJavaOptions"
EXECUTOR_JAVA = "spark.executor.extraJavaOptions"
SOCKETS = "spark.python.unix.domain.socket.enabled"
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
FILE_BASED = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"

# Partitions that are hundreds: more than so many, and so many for each bucket.
_MANY_PARTITIONS = 100
_PARTITIONS_PER_BUCKET = 4

# What the name of a socket may have, less what Spark calls one in its temporary folder.
_SOCKET_FOLDER_BYTES = 104 - 44

_JAVA = " ".join(
    [
        # Arrow checks the bounds of every value it reads; Spark reads batches it has just received.
        "-Darrow.enable_unsafe_memory_access=true",
        "-Darrow.enable_null_check_for_get=false",
        # Planning is much code that runs once per batch. Compiled with the usual eagerness it takes half of
        # all processor time in the first minute; ten times less eager, a quarter, and the loops over rows are
        # still compiled within the first batches.
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
        "-XX:Tier4BackEdgeThreshold=400000",
        # Java begins with little room for classes, and would stop twice to look for garbage in it.
        "-XX:MetaspaceSize=256m",
        "-XX:+UseParallelGC",
    ]
)


def recommended_settings(cores: int | None = None) -> dict[str, str]:
    """Settings for a SparkSession that runs joins, with a reason for each in the source.

    Users get them with `wm.configure`.

    Args:
        cores: Cores the session may use; None counts those of this machine.

    >>> recommended_settings(cores=4)["spark.sql.shuffle.partitions"]
    '4'
    """
    cores = cores or usable_cores()
    return {
        # The only store that can hold the operator's state.
        _PROVIDER: ROCKSDB,
        # Commit what changed instead of a snapshot of everything.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # One partition per core: a partition has its own operator and its own RocksDB instance. Spark keeps
        # the number for the life of a checkpoint.
        PARTITIONS: str(cores),
        # Large Arrow batches, cut by rows only: a limit in bytes is measured again for every row.
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
        "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
        # The streams are read side by side, so each needs only a share of the cores. By default Spark cuts
        # every file into one piece per core, and a file of one row group gives tasks with nothing to read.
        "spark.sql.files.minPartitionNum": str(max(1, cores // 2)),
        # The default starts a process to set the permissions of every metadata file on a local disk, some
        # twenty per batch; this one fewer, and `spark.checkpoint_files` only for folders.
        FILE_MANAGER: FILE_BASED,
        # Spark would read back every value that is removed, to count what is left.
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        # The text of the plan is made in every batch, whether somebody looks at it or not; this one is short.
        "spark.sql.ui.explainMode": "simple",
        # Streams of one schema share the code Spark generates, and its compilation, unless the name of every
        # class is made unique.
        "spark.sql.codegen.useIdInClassName": "false",
        # Packing and joining share their Python workers only if this is set the same for both, and for a
        # stateful operator it is always off.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
        # What Java and its Python workers tell each other is short, and a TCP connection keeps what is short
        # back until what went before is acknowledged: 40 ms, more than most tasks take.
        SOCKETS: "true",
        # Workers are forked from a process that has the kernels loaded.
        DAEMON: "watersmeet.spark.daemon",
        DRIVER_JAVA: _JAVA,
        EXECUTOR_JAVA: _JAVA,
    }


def can_be_changed_later(name: str) -> bool:
    """Whether a running session takes a setting; the others have to be there when Spark starts."""
    return name.startswith("spark.sql.")


def room_for_sockets(folder: str) -> bool:
    """Whether sockets can lie in a folder: their names, with that of the folder, have to be short."""
    return len(os.fsencode(folder)) <= _SOCKET_FOLDER_BYTES


def too_many_partitions(partitions: int, buckets: int) -> bool:
    """Whether most of the shuffle partitions can never have anything to do."""
    return partitions >= _MANY_PARTITIONS and 0 < buckets * _PARTITIONS_PER_BUCKET <= partitions


def fitting_partitions(conf: Any, buckets: int) -> int:
    """How many partitions suit a join: one per core, as far as there are buckets for them."""

    def setting(name: str) -> str | None:
        found = conf.get(name, "")
        return str(found) if found else None

    return min(buckets, cores_of(setting("spark.master") or "local[*]", setting))


def refuse_unsafe_settings(conf: Any, buckets: int) -> None:
    """Stop before a query starts that would lose results or cannot keep its state.

    Args:
        conf: The session's runtime configuration.
        buckets: How many buckets the join has.
    """
    policy = conf.get(_POLICY, "min")
    if policy.lower() != "min":
        raise InvalidSettings(
            f"{_POLICY} is {policy}",
            "the fastest stream would expire rows the others still have to meet.",
            f'set it back: spark.conf.set("{_POLICY}", "min").',
        )
    provider = conf.get(_PROVIDER, "")
    if "RocksDB" not in provider:
        # All at once: a session with this store and hundreds of partitions would have batches of minutes.
        detail = f"{_PROVIDER} is {provider or 'not set'}"
        hint = f'in this session spark.conf.set("{_PROVIDER}", "{ROCKSDB}")'
        partitions = conf.get(PARTITIONS, "200")
        if too_many_partitions(int(partitions), buckets):
            detail += f", and {PARTITIONS} is {partitions}: each would be a store of its own"
            hint += f' and spark.conf.set("{PARTITIONS}", "{fitting_partitions(conf, buckets)}")'
        raise InvalidSettings(
            "the configured state store cannot hold the join's state",
            f"{detail}.",
            f"build the session with wm.configure(SparkSession.builder).getOrCreate(); or, {hint}.",
        )


def refuse_large_types(conf: Any) -> None:
    """Stop before a join of plain DataFrames whose results Spark would not accept.

    Args:
        conf: The session's runtime configuration.
    """
    if conf.get(_LARGE_TYPES, "false").lower() == "true":
        raise InvalidSettings(
            f"{_LARGE_TYPES} is true",
            "the join returns texts of the usual kind, which Spark then refuses.",
            f'spark.conf.set("{_LARGE_TYPES}", "false") before the results are computed.',
        )
