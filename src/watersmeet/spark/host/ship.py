"""What is pickled and sent to the Python workers, kept to the bare minimum on purpose.

Spark pickles functions defined inside functions by value and imports everything else by name. The
wrappers below therefore start on a worker even when Watersmeet is missing there, and can say so; they
import the real code as their first act.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from watersmeet.spark.host.open_files import FileColumns
from watersmeet.spark.host.open_lines import LineColumns
from watersmeet.spark.host.open_records import RecordColumns
from watersmeet.spark.host.state import KEY_SCHEMA, VALUE_SCHEMA
from watersmeet.spark.host.task import Task

Batches = Iterator[Any]

_DRIVER_HINT = (
    "workers must run an interpreter with the same packages as the driver: set the environment variable "
    "PYSPARK_PYTHON (for example to the driver's sys.executable) before the SparkSession is created, "
    "or install watersmeet on every node."
)


def loader() -> Callable[[str], Any]:
    """A function, pickled by value, that imports a module of ours or explains why it cannot."""
    hint = _DRIVER_HINT

    def load(module: str) -> Any:
        import importlib
        import sys

        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise RuntimeError(
                f"a Python worker cannot import {error.name or module}\n"
                f"detail: the worker runs {sys.executable} (Python {sys.version.split()[0]}): {error}\n"
                f"hint: {hint}"
            ) from None

    return load


def worker_function(module: str, function: str, *arguments: Any) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow`, from a module of ours, with these arguments before the batches."""
    load = loader()
    pickled = pickle.dumps(arguments)

    def run(batches: Batches) -> Batches:
        import pickle

        yield from getattr(load(module), function)(*pickle.loads(pickled), batches)  # noqa: S301

    return run


def pack_function(
    task: Task, number: int, opened: FileColumns | LineColumns | RecordColumns | None = None
) -> Callable[[Batches], Batches]:
    """Packs a source, for `mapInArrow`; one task per batch also sends signs of life.

    With `opened` the batches list files, or have records, which it makes rows of.
    """
    load = loader()
    pickled = pickle.dumps((task, opened))

    def pack_partition(batches: Batches) -> Batches:
        import pickle

        from pyspark import TaskContext

        packing = load("watersmeet.spark.host.pack")
        context = TaskContext.get()
        first = context is None or context.partitionId() == 0
        sent, wanted = pickle.loads(pickled)  # noqa: S301
        if wanted is not None:
            batches = wanted.rows(batches)
        yield from packing.pack(sent, number, batches, heartbeat=first)

    return pack_partition


def times_function(task: Task, number: int) -> Callable[[Batches], Batches]:
    """Sends the times of a stream only, for `mapInArrow`."""
    return worker_function("watersmeet.spark.host.pack", "pack_clock", task, number)


def stateful_processor(task: Task) -> Any:
    """The processor for `transformWithStateInPandas`."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    load = loader()
    pickled = pickle.dumps(task)
    key_schema, value_schema = KEY_SCHEMA, VALUE_SCHEMA

    class JoinOperator(StatefulProcessor):
        def init(self, handle: Any) -> None:
            # Spark also calls this on the driver to learn the state's schema; that must stay cheap.
            self.handle = handle
            self.blobs = handle.getMapState("blobs", key_schema, value_schema)
            self.made = None

        def processor(self) -> Any:
            import pickle

            if self.made is None:
                module = load("watersmeet.spark.host.processor")
                self.made = module.Processor(pickle.loads(pickled), self.handle, self.blobs)  # noqa: S301
            return self.made

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            return self.processor().rows(key, rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: ARG002, N802, N803
            return self.processor().expired(key, timerValues)

        def close(self) -> None:
            pass

    JoinOperator.__module__ = "__main__"  # pickled by value
    return JoinOperator()


def plain_function(task: Task) -> Callable[..., Any]:
    """The function for `applyInArrow`."""
    import pyarrow as pa

    load = loader()
    pickled = pickle.dumps(task)

    def join_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle

        module = load("watersmeet.spark.host.plain")
        yield from module.join_group(pickle.loads(pickled), batches)  # noqa: S301

    # Written out, since Spark chooses the calling convention by the annotations and reads them as objects.
    join_bucket.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
    return join_bucket
