"""Three cameras: what they see, when, and how badly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa

from watersmeet.demo.images.scenes import SIDE, Bytes, Canvas, landscape
from watersmeet.demo.scenario import ROW, Feed, InvalidScenario
from watersmeet.query.duration import to_us

CAMERAS = ("north", "east", "south")
# A scene is seen by all cameras within this time.
APART = timedelta(seconds=6)
# How long an image may be on its way.
DELAY = timedelta(seconds=2)
# The number of the scene: the truth, which the join is not told.
SCENE = "scene"

MOST_ROWS = 100_000
MOST_BATCHES = 100

# The part of a camera's images that all cameras see, and that it sees together with one other.
_SEEN_BY_ALL, _SEEN_BY_TWO = 0.2, 0.1
# Not the present: rows dated ahead of the clock would be set aside.
_START = datetime(2025, 6, 1, 18, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Options:
    """What the cameras send.

    Attributes:
        rate: Images per second of each camera.
        seconds: How much event time they span.
        seed: Where the random numbers start.
        batches: In how many parts they are replayed.
    """

    rate: int = 5
    seconds: int = 300
    seed: int = 1
    batches: int = 6

    def __post_init__(self) -> None:
        """Refuse what cannot be shown."""
        limits = {
            "rate": (1, MOST_ROWS),
            "seconds": (1, MOST_ROWS),
            "seed": (0, 2**63),
            "batches": (1, MOST_BATCHES),
        }
        for name, (least, most) in limits.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise InvalidScenario(f"{name} is {value:,}", "", f"choose between {least:,} and {most:,}.")
        images = len(CAMERAS) * self.rate * self.seconds
        if images > MOST_ROWS:
            raise InvalidScenario(
                f"{images:,} images are too many for a demo",
                f"{len(CAMERAS)} cameras x {self.rate:,} per second x {self.seconds:,} s; "
                f"it takes {MOST_ROWS:,}.",
                "lower the rate or the seconds.",
            )


def feeds(options: Options) -> tuple[Feed, ...]:
    """The images of every camera in order of arrival."""
    random = np.random.default_rng(options.seed)
    sent: dict[str, list[tuple[int, int, Bytes]]] = {name: [] for name in CAMERAS}
    for scene, seen_by in enumerate(_sightings(options)):
        picture = landscape(random)
        first = random.integers(0, options.seconds * 1_000_000)
        for camera in seen_by:
            time = int(first + random.integers(0, to_us(APART) + 1))
            sent[camera].append((time, scene, seen(picture, random)))
    return tuple(_feed(camera, images, random) for camera, images in sent.items())


def seen(scene: Canvas, random: np.random.Generator) -> Bytes:
    """A scene through a camera: moved, too dark or too pale, grainy, and with something on the lens."""
    down, right = random.integers(0, 3, 2)
    image = np.pad(scene, ((0, 0), (1, 1), (1, 1)), mode="edge")[:, down : down + SIDE, right : right + SIDE]
    image = 128 + (image - 128) * random.uniform(0.7, 1.2) + random.uniform(-30, 30)
    image += random.normal(0, 8, image.shape)
    height, width = random.integers(4, 9, 2)
    top, left = random.integers(0, SIDE - height), random.integers(0, SIDE - width)
    spot = image[:, top : top + height, left : left + width]
    spot += 0.7 * (random.uniform(40, 120) - spot)
    taken: Bytes = image.clip(0, 255).astype(np.uint8)
    return taken


def _sightings(options: Options) -> Iterator[tuple[str, ...]]:
    """Scene by scene, who sees it."""
    images = options.rate * options.seconds
    by_all, by_two = round(images * _SEEN_BY_ALL), round(images * _SEEN_BY_TWO)
    yield from [CAMERAS] * by_all
    for pair in combinations(CAMERAS, 2):
        yield from [pair] * by_two
    # Every camera is in two of the three pairs.
    for camera in CAMERAS:
        yield from [(camera,)] * (images - by_all - 2 * by_two)


def _feed(camera: str, images: list[tuple[int, int, Bytes]], random: np.random.Generator) -> Feed:
    times = to_us(_START - datetime.fromtimestamp(0, UTC)) + np.array([time for time, _, _ in images])
    arrivals = times + random.integers(0, to_us(DELAY) + 1, len(times))
    order = np.argsort(arrivals, kind="stable")
    rows = pa.table(
        {
            "ts": pa.array(times[order]).cast(pa.timestamp("us", "UTC")),
            "image": pa.array([images[place][2].tobytes() for place in order], pa.binary()),
            SCENE: np.array([images[place][1] for place in order]),
            ROW: np.arange(len(order)),
        }
    )
    return Feed(camera, rows, arrivals[order], DELAY)
