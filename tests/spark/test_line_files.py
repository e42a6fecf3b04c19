"""Files of JSON and CSV that the workers read: the same rows as Spark's own readers give.

Would catch: a line called simple that Spark reads otherwise; an odd line that is another row, none, or two; a
header taken for a row; times of another zone; a filter, a watermark or a count that differs; lines lost where
a block ends, or after a restart.
"""

import bz2
import datetime as dt
import gzip
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import watersmeet as wm
from harness.lines import SCHEMA, random_lines
from harness.streaming import sink_rows, to_memory, to_sink
from watersmeet.errors import UnreadableFile
from watersmeet.spark.files import FileSource, source_of
from watersmeet.spark.host import open_lines
from watersmeet.spark.host.open_lines import split
from watersmeet.spark.line_files import FILE, line_file, split_lines

START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
ROWS = "k BIGINT, ts TIMESTAMP, n BIGINT, note STRING"


@pytest.fixture
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """The time zone of the session."""
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def counted(table: pa.Table) -> Counter[str]:
    """The rows by what they are; times by their microseconds, since Python has none after the year 9999."""

    def plain(column: Any) -> list[Any]:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        return list((column.cast(pa.int32()) if pa.types.is_date(column.type) else column).to_pylist())

    return Counter(map(repr, zip(*map(plain, table.columns), strict=True)))


def both_ways(
    spark: SparkSession, source: FileSource, needed: list[str]
) -> tuple[Counter[str], Counter[str], int, int]:
    """The rows of a file as they come from us, and from Spark; how many of ours were simple, or not."""
    reader = spark.read.format(source.format).schema(source.schema).options(**source.options)
    theirs = reader.load(source.path).select(*needed).toArrow()
    file = line_file(spark, source, needed)
    listed = spark.createDataFrame([(source.path,)], "path STRING")
    odd = split_lines(listed, file, source.schema).filter(F.col(FILE).isNull()).select(*needed).toArrow()
    simple = []
    for block in file.blocks(source.path):
        columns = dict(zip((one.name for one in file.form.fields), file.form.simple(block), strict=True))
        arrays = [columns[name].cast(theirs.schema.field(name).type) for name in needed]
        simple.append(pa.table(arrays, names=needed))
    rows = pa.concat_tables(simple)
    return counted(rows) + counted(odd), counted(theirs), rows.num_rows, odd.num_rows


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"], indirect=True)
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("json", {}),
        ("csv", {}),
        ("csv", {"header": "true", "sep": "\t"}),
        ("csv", {"header": "TRUE", "delimiter": ";", "inferSchema": "true"}),
    ],
)
def test_random_lines(
    spark: SparkSession, tmp_path: Path, form: str, options: Mapping[str, str], zone: str
) -> None:
    """Half of them as programs write them, the others with everything that was ever seen in a file."""
    chance = random.Random(f"{form} {zone} {len(options)}")  # noqa: S311
    separator = options.get("sep", options.get("delimiter", ","))
    lines = random_lines(form, chance, 4_000, separator)
    path = tmp_path / f"lines.{form}"
    head = b"\xef\xbb\xbf \r\n\nid" + separator.encode() + b'"small\n' if "header" in options else b""
    ends = [b"\n"] * 8 + [b"\r\n", b"\r"]
    path.write_bytes(head + b"".join(line + chance.choice(ends) for line in lines))
    schema = spark.createDataFrame([], SCHEMA).schema
    source = FileSource(str(path), schema, dict(options), form)
    for needed in (schema.names, ["note", "ts", "id"]):
        ours, theirs, simple, odd = both_ways(spark, source, needed)
        assert ours == theirs
        assert simple > 600
        assert odd > 600


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_across_blocks(tmp_path: Path, end: bytes) -> None:
    spoken = [b"%d,%s" % (number, b"x" * (number % 11)) for number in range(200)]
    (tmp_path / "one").write_bytes(end.join(spoken))
    blocks = list(open_lines._blocks(str(tmp_path / "one"), 16))
    assert len(blocks) > 50
    assert b"".join(blocks).split(end) == spoken
    assert [line for block in blocks for line in block.replace(b"\r", b"\n").split(b"\n") if line] == spoken


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1\n" + b"x" * 100 + b"\n2")
    monkeypatch.setattr(open_lines, "_LONGEST_LINE", 100)
    blocks = open_lines._blocks(str(tmp_path / "one"), 10)
    assert b"".join(blocks) == (tmp_path / "one").read_bytes()
    monkeypatch.setattr(open_lines, "_LONGEST_LINE", 80)
    with pytest.raises(UnreadableFile, match="has a line of more than 80 bytes"):
        list(open_lines._blocks(str(tmp_path / "one"), 10))


def test_packed_files(spark: SparkSession, tmp_path: Path) -> None:
    schema = spark.createDataFrame([], "id INT, note STRING").schema
    texts = b'{"id": 1, "note": "x"}\n{"id": 2, "note": "\\n"}\n'
    for name, packed in (("a.json.gz", gzip.compress(texts) * 2), ("b.json.bz2", bz2.compress(texts) * 2)):
        (tmp_path / name).write_bytes(packed)
        ours, theirs, simple, odd = both_ways(
            spark, FileSource(str(tmp_path / name), schema, {}, "json"), ["id", "note"]
        )
        assert ours == theirs
        assert (simple, odd) == (2, 2)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json.zst", b"x", "is packed"),
        ("a.json.gz", gzip.compress(b"x" * 1000)[:-9], "cannot be read"),
        ("a.json.gz", b"{}\n", "cannot be read"),
        ("a.json", '{"id": 1}'.encode("utf-16"), "is not in UTF-8"),
        ("a.json", '{"id": 1}'.encode("utf-16-le"), "is not in UTF-8"),
        ("a.json", '{"id": 1}'.encode("utf-16-be"), "is not in UTF-8"),
        ("a.json", '{"id": 1}'.encode("utf-32"), "is not in UTF-8"),
        ("a.json", '{"id": 1}'.encode("utf-32-be"), "is not in UTF-8"),
        ("a.json", b'{"id": "\xed\xa0\x80"}', "is not in UTF-8"),
        ("id=5/a.json", b"{}", "has the value of a column"),
    ],
)
def test_what_is_left_to_sparks_reader(
    spark: SparkSession, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    schema = spark.createDataFrame([], "id INT").schema
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    file = line_file(spark, FileSource(str(tmp_path), schema, {}, "json"), ["id"])
    with pytest.raises(UnreadableFile, match=said):
        list(split(file, iter([pa.record_batch([[f"file:{tmp_path / name}"]], ["path"])])))


def test_a_file_that_changes(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1\n2\n")
    file = line_file(
        spark, FileSource(str(path), spark.createDataFrame([], "id INT").schema, {}, "csv"), ["id"]
    )
    listed = list(split(file, iter([pa.record_batch([[str(path)]], ["path"])])))
    wanted = open_lines.LineColumns(file, (0,))
    packed = [batch.select(["path", "size"]) for batch in listed]
    with_column = [
        pa.record_batch([pa.nulls(one.num_rows, pa.int32()), *one.columns], ["c0", "path", "size"])
        for one in packed
    ]
    assert [batch.to_pylist() for batch in wanted.rows(iter(with_column))] == [[{"c0": 1}, {"c0": 2}]]
    path.write_bytes(b"1\n2\n3\n")
    with pytest.raises(UnreadableFile, match="changes while it is read"):
        list(wanted.rows(iter(with_column)))


def lines_of(form: str, number: int) -> str:
    """Simple lines and odd ones; times that are null, late or far ahead, and a key that is null."""
    lines = []
    for n in range(40):
        ts = START + dt.timedelta(minutes=20 * number - (90 if n == 7 else 0), seconds=20 * n)
        stamp = f"{ts:%Y-%m-%dT%H:%M:%S}" + ("" if n == 5 else "Z")
        stamp = "2999-01-01T00:00:00Z" if n == 6 else "never" if n == 8 else stamp
        values = [str(n % 4), stamp, str(n), f"{number}.{n}"]
        if form == "csv":
            values[0] = "" if n == 9 else values[0]
            values[3] = f'"{values[3]}"' if n % 10 == 0 else values[3]
            lines.append(",".join(values))
        else:
            said = f'"ts": "{stamp}", "n": {n}, "note": "{values[3]}"'
            key = "" if n == 9 else f'"k": {values[0]}, '
            lines.append("{" + key + (said.replace('"n"', '"\\u006e"') if n % 10 == 0 else said) + "}")
    odd = [] if form == "csv" else ["[" + lines[1] + "," + lines[2] + "]"]
    return "\n".join([*lines, *odd, "", "never,mind", ""])


def feed(folder: Path, form: str, number: int) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    hidden.write_text(lines_of(form, number))
    os.utime(hidden, (1e9 + number, 1e9 + number))
    hidden.rename(folder / f"{number}.{form}")


def joined(spark: SparkSession, folder: Path, form: str, on: list[str], *, opened: bool) -> DataFrame:
    streams = []
    for name in "ab":
        df = wm.files(spark, folder, schema=ROWS, format=form, options={"maxFilesPerTrigger": 1})
        df = df if opened else df.select("*")
        assert (source_of(df) is not None) == opened
        streams.append(wm.stream(name, df, time="ts", window="30 minutes", lateness="5 minutes"))
    frame = wm.join(*streams, on=["a.k = b.k", *on], buckets=2, select=["a.n", "b.note", "a.ts"])
    return frame.to_dataframe()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"], indirect=True)
@pytest.mark.parametrize(
    ("form", "on"),
    [
        ("json", []),
        ("csv", ["a.n > 2", "b.note <> '0.3' OR b.n < 4"]),
        ("json", ["a.n <> 4", "b.n > 0"]),
        ("csv", ["soundex(a.note) <> 'x'"]),
        ("csv", ["a.n % 8 = b.n % 8", "a.n > 0"]),
        ("json", ["12 / greatest(a.n, 0) = 12 / greatest(b.n, 0)", "a.n > 0", "b.n > 0"]),
    ],
)
def test_a_join_both_ways(spark: SparkSession, tmp_path: Path, form: str, on: list[str], zone: str) -> None:
    """Results, watermarks, and rows that were counted, in every batch."""
    for number in range(3):
        feed(tmp_path / "files", form, number)
    found = []
    for opened in (True, False):
        frame = joined(spark, tmp_path / "files", form, on, opened=opened)
        plan = frame._jdf.queryExecution().analyzed().toString()
        # Of one stream whose condition only Spark can judge, and always of the other.
        assert (FILE in plan) == opened
        query, memory = to_memory(frame)
        told = []
        for progress in query.recentProgress:
            streams = wm.metrics(progress)[0].streams
            told.append((progress.eventTime.get("watermark"), *(
                (one.rows, one.null_times, one.future_times, one.null_keys, one.late, one.newest)
                for one in streams.values()
            )))  # fmt: skip
        found.append((sorted(map(tuple, memory.collect()), key=str), told))
    assert found[0] == found[1]
    assert len(found[0][0]) > 15
    assert len(found[0][1]) >= 3


def test_files_of_odd_lines_are_read_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is faster. What the first file of a folder has says which way is taken."""
    (tmp_path / "_SUCCESS").write_text("")
    for lines, opened in (("1,,1,x\n" * 6 + '1,,1," "\n' * 2, True), ('1,,1," "\n', False), ("", True)):
        (tmp_path / "one").write_text(lines)
        frame = joined(spark, tmp_path, "csv", [], opened=True)
        assert (FILE in frame._jdf.queryExecution().analyzed().toString()) == opened
    source = FileSource(str(tmp_path), spark.createDataFrame([], ROWS).schema, {}, "json")
    file = line_file(spark, source, ["k"])
    for name, content in (
        ("one", '{"k": 1}'.encode("utf-16")),
        ("one.zst", b"x"),
        ("one", b'{"k": 1}\n' * 9),
    ):
        for path in tmp_path.glob("one*"):
            path.unlink()
        (tmp_path / name).write_bytes(content)
        assert file.pays(str(tmp_path)) == (len(content) == 81)
    monkeypatch.setattr(open_lines, "_LARGE_BYTES", 80)
    assert not file.pays(str(tmp_path)), "Spark cuts large files"


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_restart_goes_on_either_way(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """A checkpoint of one way of reading goes on with the other."""
    for number in range(4):
        feed(tmp_path / "files", form, number)
        to_sink(joined(spark, tmp_path / "files", form, [], opened=number % 2 == 1), tmp_path)
    _, memory = to_memory(joined(spark, tmp_path / "files", form, [], opened=False))
    found = sorted(map(tuple, sink_rows(spark, tmp_path).collect()), key=str)
    assert found == sorted(map(tuple, memory.collect()), key=str)
    assert len(found) > 30


@pytest.mark.parametrize(
    ("form", "schema", "options", "noted"),
    [
        ("json", "k INT, ts TIMESTAMP", {"maxFilesPerTrigger": 1}, True),
        ("json", "k INT, ts TIMESTAMP", {"multiLine": True}, False),
        ("json", "k INT, ts TIMESTAMP", {"header": True}, False),
        ("json", "k INT, ts TIMESTAMP, _corrupt_record STRING", {}, False),
        ("json", "k INT, ts TIMESTAMP, price DECIMAL(9, 2)", {}, False),
        ("json", 'k INT, ts TIMESTAMP, `a"b` STRING', {}, False),
        ("csv", "k INT, ts TIMESTAMP", {"header": True, "sep": ";"}, True),
        ("csv", "k INT, ts TIMESTAMP", {"sep": "::"}, False),
        ("csv", "k INT, ts TIMESTAMP", {"sep": ";|"}, False),
        ("csv", "k INT, ts TIMESTAMP", {"header": 1}, False),
        ("csv", "__File INT, ts TIMESTAMP", {}, False),
        ("csv", "k INT, ts TIMESTAMP", {"mode": "PERMISSIVE"}, False),
        ("csv", "k INT, ts TIMESTAMP", {"timestampFormat": "yyyy"}, False),
    ],
)
def test_which_are_opened(
    spark: SparkSession, tmp_path: Path, form: str, schema: str, options: Mapping[str, Any], noted: bool
) -> None:
    df = wm.files(spark, tmp_path, schema=schema, format=form, options=options)
    assert (source_of(df) is not None) == noted
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    try:
        assert source_of(wm.files(spark, tmp_path, schema=schema, format=form, options=options)) is None
    finally:
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")
