"""What can happen to a local file behind the back of those who have it open."""

from pathlib import Path

from pyspark.sql import SparkSession

from watersmeet.spark.private import own_name


def delete(path: Path) -> None:
    """The file is gone."""
    path.unlink()


def truncate(path: Path) -> None:
    """Its second half is gone."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path) -> None:
    """All of its content is gone."""
    with path.open("r+b") as file:
        file.truncate(0)


def damage(path: Path) -> None:
    """Another file of the same length lies under its name."""
    other = path.with_suffix(".other")
    other.write_bytes(_flipped(path.read_bytes()))
    other.rename(path)


def damage_in_place(path: Path) -> None:
    """The very file that workers have mapped holds other bytes."""
    flipped = _flipped(path.read_bytes())
    with path.open("r+b") as file:
        file.write(flipped)


def _flipped(content: bytes) -> bytes:
    """One bit in every eight bytes."""
    return bytes(byte ^ (1 if i % 8 == 0 else 0) for i, byte in enumerate(content))


HARMS = [delete, truncate, empty, damage, damage_in_place]


def run_files(spark: SparkSession, query_id: str) -> list[Path]:
    """The local files of a query's runs."""
    scratch = Path(spark.conf.get("spark.local.dir"))
    return [path for path in scratch.glob(f"**/{own_name()}/{query_id}/*/*/*") if path.is_file()]
