"""Arrow results through Spark's pandas-shaped door.

A stateful operator must return pandas frames, which Spark turns back into Arrow. For nested values it
calls ``series.apply`` with a converter for Python objects: thousands of nanoseconds per value, and wrong
for maps that are Arrow already. Our values need no conversion, so the series of our frames answer
``apply`` with themselves. Subclassing with `_constructor_sliced` is pandas' documented way to do this.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa


class _ArrowSeries(pd.Series):
    @property
    def _constructor(self) -> Any:
        return _ArrowSeries

    def apply(self, *_: Any, **__: Any) -> Any:
        return self


class _ArrowFrame(pd.DataFrame):
    @property
    def _constructor(self) -> Any:
        return _ArrowFrame

    @property
    def _constructor_sliced(self) -> Any:
        return _ArrowSeries


def arrow_frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """A record batch as a frame whose columns stay Arrow arrays."""
    return _ArrowFrame(
        {
            name: pd.Series(pd.arrays.ArrowExtensionArray(column), copy=False)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        },
        copy=False,
    )
