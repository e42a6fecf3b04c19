"""Generated streams: as many as asked for, at a given rate, with skewed keys and out of order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.demo.answer import KeyedScenario, expected_results
from watersmeet.demo.scenario import ROW, Feed, Integers, InvalidScenario
from watersmeet.query.duration import describe_duration, to_us

MOST_STREAMS = 10
MOST_BATCHES = 100
MOST_ROWS = 20_000_000
MOST_SECONDS = 86_400
MOST_SKEW = 10
MOST_RESULTS = 2_000_000

# Not the present: rows dated ahead of the clock would be set aside.
_START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Options:
    """What the streams look like.

    Attributes:
        streams: How many there are.
        rate: Rows per second of event time in each.
        seconds: How much event time they span.
        window: How long a row waits for partners.
        keys: How many different keys there are.
        skew: The exponent of Zipf's law over the keys; 0 makes all keys equally frequent.
        disorder: How long a row may be on its way.
        seed: Where the random numbers start.
        batches: In how many parts they are replayed.
    """

    streams: int = 4
    rate: int = 10_000
    seconds: int = 30
    window: timedelta = timedelta(seconds=10)
    keys: int = 200_000
    skew: float = 0.0
    disorder: timedelta = timedelta(seconds=2)
    seed: int = 1
    batches: int = 15

    def __post_init__(self) -> None:
        """Refuse what cannot be shown."""
        limits: dict[str, tuple[int, int]] = {
            "streams": (2, MOST_STREAMS),
            "rate": (1, MOST_ROWS),
            "seconds": (1, MOST_SECONDS),
            "keys": (1, MOST_ROWS),
            "skew": (0, MOST_SKEW),
            "seed": (0, 2**63),
            "batches": (1, MOST_BATCHES),
        }
        for name, (least, most) in limits.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise InvalidScenario(f"{name} is {value:,}", "", f"choose between {least:,} and {most:,}.")
        if self.window <= timedelta():
            raise InvalidScenario("the window has no length", "", 'choose for example "10 seconds".')
        if self.disorder < timedelta():
            raise InvalidScenario("the disorder is negative", "", 'choose for example "2 seconds".')
        rows = self.streams * self.rate * self.seconds
        if rows > MOST_ROWS:
            raise InvalidScenario(
                f"{rows:,} rows are too many for a demo",
                f"{self.streams} streams x {self.rate:,} rows/s x {self.seconds} s; it takes {MOST_ROWS:,}.",
                "lower the rate or the seconds.",
            )


def generated(options: Options) -> KeyedScenario:
    """Streams made to measure.

    Raises:
        InvalidScenario: The join would have more results than a demo can hold.
    """
    random = np.random.default_rng(options.seed)
    feeds = tuple(_feed(f"s{number}", options, random) for number in range(1, options.streams + 1))
    story = (
        f"{options.streams} streams of {options.rate:,} rows per second over {options.seconds} seconds, with "
        f"{options.keys:,} keys {_describe_skew(options.skew)} and rows up to "
        f"{describe_duration(options.disorder)} out of order. Which rows, one of each stream, have the same "
        f"key within {describe_duration(options.window)} of each other?"
    )
    scenario = KeyedScenario(
        title=f"{options.streams} generated streams",
        story=story,
        feeds=feeds,
        key="key",
        time="ts",
        window=options.window,
        batches=options.batches,
        known_results=None,
        headings=("key", *(feed.name for feed in feeds)),
        cells=_cells,
        note="",
        no_time="no time",
    )
    _refuse_explosion(scenario, options)
    return scenario


def _feed(name: str, options: Options, random: np.random.Generator) -> Feed:
    count = options.rate * options.seconds
    start_us = to_us(_START - datetime(1970, 1, 1, tzinfo=UTC))
    time_us = start_us + random.integers(0, options.seconds * 1_000_000, count)
    # A row is on its way for at most the disorder, so it is never further behind than that.
    arrival_us = time_us + random.integers(0, to_us(options.disorder) + 1, count)
    order = np.argsort(arrival_us, kind="stable")
    rows = pa.table(
        {
            "key": _keys(options, random, count),
            "ts": pa.array(time_us[order]).cast(pa.timestamp("us", "UTC")),
            ROW: np.arange(count),
        }
    )
    return Feed(name, rows, arrival_us[order], options.disorder)


def _keys(options: Options, random: np.random.Generator, count: int) -> Integers:
    """Draw keys by Zipf's law: the key of rank k comes in proportion to 1 / k ** skew."""
    weights = np.arange(1, options.keys + 1, dtype=np.float64) ** -options.skew
    bounds = np.cumsum(weights)
    keys: Integers = np.searchsorted(bounds, random.random(count) * bounds[-1], side="right").astype(np.int64)
    return keys


def _describe_skew(skew: float) -> str:
    return f"skewed by {skew:g}" if skew else "equally frequent"


def _refuse_explosion(scenario: KeyedScenario, options: Options) -> None:
    """Frequent keys multiply: n streams with m rows of a key in the window make m ** n results."""
    _, by_key = expected_results(scenario)
    results = int(by_key.sum())
    if results > MOST_RESULTS:
        fitting = options.rate * (MOST_RESULTS / 2 / results) ** (1 / options.streams)
        raise InvalidScenario(
            f"the join would have {results:,} results",
            f"a demo keeps them all in order to check them, and takes {MOST_RESULTS:,}.",
            f"a rate of {max(1, round(fitting)):,} would have about half of that; "
            "a shorter window, less skew or more keys help too.",
        )


def _cells(result: Mapping[str, Any]) -> tuple[str, ...]:
    first = next(iter(result.values()))
    return (f"{first['key']}", *(f"{row['ts']:%H:%M:%S.%f}"[:-3] for row in result.values()))
