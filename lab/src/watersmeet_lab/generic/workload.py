"""Cameras that see some of the same scenes, as Parquet files of one micro-batch each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

SIDE = 64
_SHIFT = 2
_NOISE = 6
# Shifted and noisy copies differ by half of this for a pixel, other scenes by five times as much.
_LIMIT = 14

_EPOCH_US = 1_700_000_000_000_000

SCHEMA = "id bigint, scene bigint, ts timestamp, image binary"


def similar(left: Any, right: Any) -> Any:
    """Whether images show the same, shifted by up to two pixels: rows of bytes, one image each."""
    inner = SIDE - 2 * _SHIFT
    one = left.reshape(-1, SIDE, SIDE)[:, _SHIFT:-_SHIFT, _SHIFT:-_SHIFT].astype(np.int16)
    other = right.reshape(-1, SIDE, SIDE).astype(np.int16)
    least = np.full(len(one), np.iinfo(np.int32).max, np.int32)
    for down in range(2 * _SHIFT + 1):
        for across in range(2 * _SHIFT + 1):
            apart = np.abs(one - other[:, down : down + inner, across : across + inner])
            np.minimum(least, apart.sum(axis=(1, 2), dtype=np.int32), out=least)
    return least < _LIMIT * inner * inner


@dataclass(frozen=True)
class Cameras:
    """What is generated.

    Attributes:
        streams: How many cameras there are.
        rate: Images per second of each.
        window_s: How long an image waits for another, seconds.
        batch_s: Event time of a micro-batch, seconds.
        batches: Micro-batches.
        seen: The part of images whose scene another camera sees too.
        seed: Seed of the generator.
    """

    streams: int = 2
    rate: int = 100
    window_s: int = 10
    batch_s: int = 2
    batches: int = 8
    seen: float = 0.3
    seed: int = 20261116

    @property
    def names(self) -> tuple[str, ...]:
        """What the streams are called."""
        return tuple("abcdefgh"[: self.streams])


def generate(cameras: Cameras, root: Path) -> None:
    """Write the streams; `root/a/00000.parquet` is the first batch of the first stream."""
    rows = cameras.rate * cameras.batch_s
    for stream, name in enumerate(cameras.names):
        random = np.random.default_rng([cameras.seed, stream])
        for batch in range(cameras.batches):
            number = np.arange(batch * rows, (batch + 1) * rows)
            shared = random.random(rows) < cameras.seen
            # What others see has a number that all know; what nobody else sees one of its own.
            scene = np.where(shared, number // 4, (stream + 1) * 1_000_000 + number)
            times = _EPOCH_US + (number * (1_000_000 // cameras.rate)) + 7 * stream
            images = [_seen(cameras.seed, int(one), random).tobytes() for one in scene]
            table = pa.table(
                {
                    "id": pa.array(number),
                    "scene": pa.array(scene),
                    "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                    "image": pa.array(images, pa.binary()),
                }
            )
            write_batch(table, root / name, batch)


def _seen(seed: int, scene: int, random: np.random.Generator) -> Any:
    """A scene as a camera sees it: a little shifted, with noise."""
    own = np.random.default_rng([seed, 7, scene])
    wide = SIDE + 2 * _SHIFT
    # A coarse pattern, so that a shift changes little.
    coarse = own.integers(20, 235, (wide // 17, wide // 17))
    whole = np.kron(coarse, np.ones((17, 17), np.int64))[:wide, :wide]
    # Two cameras may be shifted against each other by both of their shifts.
    down, across = random.integers(0, _SHIFT + 1, 2)
    cut = whole[down : down + SIDE, across : across + SIDE]
    noise = random.integers(-_NOISE, _NOISE + 1, (SIDE, SIDE))
    return np.clip(cut + noise, 0, 255).astype(np.uint8)
