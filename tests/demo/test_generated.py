from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from watersmeet.demo.generated import Options, generated
from watersmeet.demo.scenario import InvalidScenario, behind_us, times_us

SMALL = {"rate": 500, "seconds": 4, "keys": 2_000}


def test_streams_are_as_asked() -> None:
    scenario = generated(Options(streams=5, **SMALL))
    assert [feed.name for feed in scenario.feeds] == ["s1", "s2", "s3", "s4", "s5"]
    assert [feed.rows.num_rows for feed in scenario.feeds] == [2_000] * 5


@pytest.mark.parametrize("disorder", [timedelta(), timedelta(milliseconds=300), timedelta(minutes=1)])
def test_no_row_is_further_behind_than_the_disorder(disorder: timedelta) -> None:
    for feed in generated(Options(disorder=disorder, **SMALL)).feeds:
        worst = timedelta(microseconds=int(behind_us(times_us(feed.rows, "ts")).max()))
        assert worst <= disorder == feed.lateness
        assert (worst > timedelta()) == (disorder > timedelta())
        assert (np.diff(feed.arrival_us) >= 0).all()


def test_the_seed_decides() -> None:
    one, same, other = (generated(Options(seed=seed, **SMALL)).feeds[0].rows for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_skew_makes_some_keys_frequent() -> None:
    def most_frequent(skew: float) -> int:
        keys = generated(Options(streams=2, skew=skew, **SMALL)).feeds[0].rows["key"].to_numpy()
        assert keys.min() >= 0
        assert keys.max() < SMALL["keys"]
        return int(np.bincount(keys).max())

    assert most_frequent(0.0) < 10 < 30 < most_frequent(0.8)


@pytest.mark.parametrize(
    "options",
    [
        {"streams": 1},
        {"streams": 11},
        {"rate": 0},
        {"seconds": -1},
        {"seconds": 100_000, "rate": 1},
        {"keys": 0},
        {"batches": 0},
        {"window": timedelta()},
        {"skew": -0.1},
        {"skew": float("nan")},
        {"disorder": timedelta(seconds=-1)},
        {"seed": -1},
        {"rate": 1_000_000, "seconds": 60},
    ],
)
def test_what_cannot_be_shown_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidScenario):
        Options(**options)


def test_a_join_that_would_explode_is_refused_with_a_rate_that_fits() -> None:
    with pytest.raises(InvalidScenario) as refused:
        generated(Options(rate=2_000, keys=10))
    assert "results" in refused.value.fact
    rate = int(refused.value.hint.split("a rate of ")[1].split(" would")[0].replace(",", ""))
    assert 1 < rate < 2_000
    generated(Options(rate=rate, keys=10))
