"""What is pickled and sent to the Python workers of a join between sites; see `spark.ship` for how."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from watersmeet.spark.ship import loader
from watersmeet.spark.sites.task import SiteTask
from watersmeet.spark.state import KEY_SCHEMA, VALUE_SCHEMA

Batches = Iterator[Any]


def pack_function(task: SiteTask, stream: int, sites: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """Packs a source, for `mapInArrow`."""
    return _worker("watersmeet.spark.sites.pack", "pack", task, stream, sites)


def post_function(task: SiteTask) -> Callable[[Batches], Batches]:
    """Posts mail, for `mapInArrow`."""
    return _worker("watersmeet.spark.sites.results", "post", task)


def unpack_function(task: SiteTask) -> Callable[[Batches], Batches]:
    """Unpacks results, for `mapInArrow`."""
    return _worker("watersmeet.spark.sites.results", "unpack", task)


def _worker(module: str, function: str, *arguments: Any) -> Callable[[Batches], Batches]:
    load = loader()
    pickled = pickle.dumps(arguments)

    def run(batches: Batches) -> Batches:
        import pickle

        yield from getattr(load(module), function)(*pickle.loads(pickled), batches)  # noqa: S301

    return run


def site_processor(task: SiteTask) -> Any:
    """The processor for `transformWithStateInPandas`."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    load = loader()
    pickled = pickle.dumps(task)
    key_schema, value_schema = KEY_SCHEMA, VALUE_SCHEMA

    class SiteOperator(StatefulProcessor):
        def init(self, handle: Any) -> None:
            # Spark also calls this on the driver to learn the state's schema; that must stay cheap.
            self.values = handle.getMapState("site", key_schema, value_schema)
            self.made: Any = None

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
            import pickle

            if self.made is None:
                module = load("watersmeet.spark.sites.processor")
                self.made = module.SiteProcessor(pickle.loads(pickled), self.values)  # noqa: S301
            return self.made.rows(key, rows)

        def close(self) -> None:
            pass

    SiteOperator.__module__ = "__main__"  # pickled by value
    return SiteOperator()
