"""Job files with Python functions as conditions.

Would catch: a function that is not found or does not travel, settings that are ignored, a job that is
deployed though it should not be, or counts its rows once per slice.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from watersmeet.jobs.job import Job, read_job
from watersmeet.jobs.settings import InvalidJob

STREAM = """
[streams.{name}]
format = "json"
path = "{name}"
schema = "word STRING, ts TIMESTAMP"
time = "ts"
window = "10 seconds"
"""
QUERY = """
[query]
select = ["a.word", "b.word"]
buckets = 2

[[query.predicates]]
function = "words.py:anagrams"
columns = ["a.word", "b.word"]
vectorized = false
cost = "5 us"
"""
SINK = """
[sink]
format = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
trigger = "available now"
"""
STREAMS = STREAM.format(name="a") + STREAM.format(name="b")
FUNCTION = """
LETTERS = sorted

def anagrams(left, right):
    return LETTERS(left) == LETTERS(right)
"""


def read(folder: Path, text: str) -> Job:
    (folder / "words.py").write_text(FUNCTION)
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def test_functions_are_read(tmp_path: Path) -> None:
    planning = '[planning]\nrouting = "aligned"\nsegment = "1 minute"\n'
    job = read(tmp_path, STREAMS + QUERY + planning + SINK)
    (function,) = job.predicates
    assert function.text == "anagrams(a.word, b.word)"
    assert (function.cost, function.vectorized) == (5e-6, False)
    assert function.call("ab", "ba")
    assert (job.planning.routing, str(job.planning.segment)) == ("aligned", "0:01:00")


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        (
            "words.py:anagrams",
            "words.py:others",
            r"\[query.predicates 1\] cannot take .* words.py has no others",
        ),
        ("words.py:anagrams", "nowhere:anagrams", "No module named 'nowhere'"),
        ("words.py:anagrams", "anagrams", "write where it is and what it is called"),
        ("words.py:anagrams", "absent.py:anagrams", "No such file"),
        ('columns = ["a.word", "b.word"]', "", r'\[query.predicates 1\] "columns" is missing'),
        ('cost = "5 us"', 'cost = "soon"', "is not a duration"),
        ('cost = "5 us"', 'price = "5 us"', 'unknown setting "price"'),
        ("[[query.predicates]]", "[query.predicates]", "predicates must be tables"),
        ("[query]\n", '[query]\nsql = "SELECT 1"\n', '"predicates" belong to "on"'),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, mistake: str) -> None:
    text = STREAMS + QUERY + SINK
    assert old in text
    with pytest.raises(InvalidJob, match=mistake):
        read(tmp_path, text.replace(old, new, 1))


@pytest.mark.parametrize(
    "mailbox",
    ["", pytest.param('mailbox = "mail"\n', marks=pytest.mark.soak)],
    ids=["streamed", "deployed"],
)
def test_a_job_with_a_function_runs(command: Callable[..., str], tmp_path: Path, mailbox: str) -> None:
    read(tmp_path, STREAMS + QUERY + SINK + mailbox)
    for name, words in {"a": ["stop", "tea", "leaf"], "b": ["eat", "pots", "tree"]}.items():
        (tmp_path / name).mkdir()
        rows = [{"word": word, "ts": f"2026-01-01T00:00:0{n}Z"} for n, word in enumerate(words)]
        (tmp_path / name / "0.json").write_text("\n".join(map(json.dumps, rows)))
    shown = command("run", str(tmp_path / "job.toml"))
    assert "2 results from 6 rows" in shown
    table = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table()
    pairs = zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True)
    assert set(pairs) == {("stop", "pots"), ("tea", "eat")}
