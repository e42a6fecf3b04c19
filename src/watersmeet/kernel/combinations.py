"""Combinations of rows under construction: which row of which run, per input, and when they live together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.gather import gather
from watersmeet.kernel.run import Rows, Run, build_run, keys_of_rows


@dataclass(frozen=True, slots=True)
class Places:
    """The rows of one input: `rows[i]` of `runs[owners[i]]`; `names` are those of stored runs."""

    runs: Sequence[Run]
    owners: Any
    rows: Any
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Combinations:
    """Rows that meet: all inputs bound so far, one row of each per combination.

    Attributes:
        places: The rows, by input.
        starts: When the last row of each combination came alive (int64 microseconds).
        ends: Until when all of them are.
        carried: Further numbers of each combination, which go where it goes.
    """

    places: dict[int, Places]
    starts: Any
    ends: Any
    carried: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """How many combinations there are."""
        return len(self.starts)

    def take(self, numbers: Any) -> Combinations:
        """Some of the combinations: by number, by mask or as a slice."""
        places = {
            part: Places(place.runs, place.owners[numbers], place.rows[numbers], place.names)
            for part, place in self.places.items()
        }
        carried = tuple(values[numbers] for values in self.carried)
        return Combinations(places, self.starts[numbers], self.ends[numbers], carried)

    def columns(self, part: int, positions: Sequence[int]) -> list[pa.Array]:
        """Stored columns of one input.

        Raises:
            watersmeet.kernel.gather.TooManyBytes: They are too large together.
        """
        place = self.places[part]
        return gather(place.runs, place.owners, place.rows, positions)

    def as_head(self, keyed_by: int) -> tuple[Run, Combinations]:
        """A run that can look for further partners, by the key of one input, and its rows' combinations."""
        place = self.places[keyed_by]
        keys = keys_of_rows(place.runs, place.owners, place.rows)
        number = pa.record_batch([pa.array(np.arange(len(self)))], ["number"])
        run = build_run(Rows(keys, self.starts, number, self.ends))
        return run, self.take(run.columns.column(0).to_numpy())
