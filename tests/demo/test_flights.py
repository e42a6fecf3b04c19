"""The committed flights: complete, in order, and with the answers known for them."""

from dataclasses import replace
from datetime import timedelta
from importlib.resources import files

import numpy as np
import pytest

from watersmeet.demo.answer import KeyedScenario, expected_results
from watersmeet.demo.flights import LATENESS, departures, flights
from watersmeet.demo.scenario import behind_us, times_us


@pytest.fixture(scope="module")
def scenario() -> KeyedScenario:
    return flights()


def test_the_file_holds_the_year_in_order_of_the_schedule() -> None:
    table = departures()
    assert table.column_names == ["scheduled", "delay", "carrier", "flight", "origin", "dest"]
    assert table.num_rows == 336_776
    assert table["delay"].null_count == 336_776 - 328_521
    assert (np.diff(table["scheduled"].to_numpy()) >= np.timedelta64(0)).all()
    assert table.drop_columns("delay").drop_null().num_rows == table.num_rows


def test_the_file_is_small() -> None:
    data = files("watersmeet.demo") / "data" / "flights.parquet"
    assert len(data.read_bytes()) < 3_000_000


def test_each_airport_is_a_stream(scenario: KeyedScenario) -> None:
    assert {feed.name: feed.rows.num_rows for feed in scenario.feeds} == {
        "EWR": 120_835,
        "JFK": 111_279,
        "LGA": 104_662,
    }
    assert scenario.rows == 336_776


@pytest.mark.parametrize("origin", LATENESS)
def test_the_lateness_is_what_the_year_needs_and_little_more(scenario: KeyedScenario, origin: str) -> None:
    (feed,) = (feed for feed in scenario.feeds if feed.name == origin)
    worst = timedelta(microseconds=int(behind_us(times_us(feed.rows, "departed")).max()))
    assert worst <= feed.lateness < worst + timedelta(hours=1)


@pytest.mark.parametrize(("minutes", "results"), [(5, 871), (15, 5_691), (30, 19_233)])
def test_the_numbers_of_results_known_for_the_year(
    scenario: KeyedScenario, minutes: int, results: int
) -> None:
    _, by_destination = expected_results(replace(scenario, window=timedelta(minutes=minutes)))
    assert by_destination.sum() == results
