"""Job files for joins without windows: what they say, what they must not, and one that runs to its end.

Would catch: a job that never ends, that ends before all is found, or a plot that is not drawn.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from watersmeet.jobs.job import read_job
from watersmeet.jobs.plot import InvalidPlot, refuse_bad_plot
from watersmeet.jobs.settings import InvalidJob
from watersmeet.query import Unbounded

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD = (
    (EXAMPLES / "ended" / "job.toml").read_text()
    + """
[planning.memory]
algorithm = "xjoin"
tick = "5 seconds"
"""
)


def test_everything_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(GOOD)
    job = read_job(tmp_path / "job.toml")
    assert all(isinstance(stream.window, Unbounded) for stream in job.streams)
    assert (job.endless, job.memory, job.trigger) == (True, "8 MB", "to the end")
    assert (job.planning.memory.algorithm, job.planning.memory.tick_s) == ("xjoin", 5.0)


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('"8 MB"', '"much"', "[query] the memory cannot be read"),
        ('"8 MB"', "true", "[query] the memory cannot be read"),
        ('"8 MB"', "7", "[query] the memory is too small"),
        ('"xjoin"', '"yjoin"', '[planning.memory] there is no algorithm "yjoin"'),
        ('"5 seconds"', '"0 seconds"', '[planning.memory] tick: "0 seconds" is not positive'),
        ('"unbounded"', '"1 hour"', '[run] trigger "to the end" is for streams without windows'),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, mistake: str) -> None:
    assert old in GOOD
    (tmp_path / "job.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(InvalidJob) as raised:
        read_job(tmp_path / "job.toml")
    assert mistake in str(raised.value)


def test_plots_that_could_not_be_saved(tmp_path: Path) -> None:
    for name, why in (("curve.txt", "ends in"), ("nowhere/curve.svg", "no such folder")):
        with pytest.raises(InvalidPlot, match=why):
            refuse_bad_plot(tmp_path / name)


@pytest.mark.soak
def test_a_job_runs_to_its_end(command: Callable[..., str], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "weblog", tmp_path / "weblog")
    shutil.copytree(EXAMPLES / "ended", tmp_path / "ended")
    shown = command("run", str(tmp_path / "ended/job.toml"), "--plot", str(tmp_path / "curve.svg"))
    with duckdb.connect() as connection:
        for name in ("apollo", "countdown"):
            connection.read_parquet(f"{tmp_path}/weblog/{name}/*.parquet").create(name)
        expected = connection.execute(
            "SELECT apollo.host, apollo.url, countdown.url FROM apollo JOIN countdown USING (host)"
        ).fetchall()
        results = connection.read_parquet(f"{tmp_path}/ended/results/*.parquet")
        found = results.project("host, apollo_url, countdown_url").fetchall()
    assert len(expected) > 100
    assert sorted(found) == sorted(expected)
    assert f"{len(expected):,} results from" in shown
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
