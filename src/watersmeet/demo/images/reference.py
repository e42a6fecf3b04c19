"""The answer, found without Spark and without the join: every pair of images close in time, compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from watersmeet.demo.images.scenes import Bytes
from watersmeet.demo.images.similar import NEAR, Distances, distances
from watersmeet.demo.scenario import Feed, Integers, times_us

# Images are compared so many at a time, to stay within the processor's cache.
_BLOCK = 64

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Compared:
    """All pairs of two cameras' images that lie within the window.

    Attributes:
        one: Rows of the first camera.
        other: Rows of the second, as many.
        distance: How unlike the images of each pair are.
    """

    one: Integers
    other: Integers
    distance: Distances

    def near(self) -> list[tuple[int, int]]:
        """The pairs that show one scene."""
        held = self.distance < NEAR
        return list(zip(self.one[held].tolist(), self.other[held].tolist(), strict=True))

    def closest_misses(self, count: int) -> list[tuple[int, int]]:
        """The pairs that were nearly taken for one scene, the closest first."""
        missed = np.flatnonzero(self.distance >= NEAR)
        closest = missed[np.argsort(self.distance[missed])[:count]]
        return list(zip(self.one[closest].tolist(), self.other[closest].tolist(), strict=True))


def compare(one: Feed, other: Feed, window_us: int) -> Compared:
    """Compare every image of a camera with every image of another within the window."""
    apart = np.abs(times_us(one.rows, "ts")[:, None] - times_us(other.rows, "ts")[None, :])
    first, second = np.nonzero(apart <= window_us)
    left, right = _images(one), _images(other)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(first), _BLOCK)]
    found = [distances(left[first[block]], right[second[block]]) for block in blocks]
    return Compared(first, second, np.concatenate(found) if found else np.empty(0, np.float32))


def triples(feeds: Sequence[Feed], window_us: int, compared: tuple[Compared, Compared]) -> list[Triple]:
    """Rows of three cameras that belong together, sorted.

    Args:
        feeds: The cameras.
        window_us: How far apart the three may be.
        compared: The first camera with the second, and the second with the third.
    """
    first_times, _, last_times = [times_us(feed.rows, "ts") for feed in feeds]
    partners: dict[int, list[int]] = defaultdict(list)
    for middle, last in compared[1].near():
        partners[middle].append(last)
    return sorted(
        (first, middle, last)
        for first, middle in compared[0].near()
        for last in partners[middle]
        if abs(first_times[first] - last_times[last]) <= window_us
    )


def _images(feed: Feed) -> Bytes:
    """The bytes of an image in every row."""
    images = feed.rows["image"].to_pylist()
    return np.frombuffer(b"".join(images), np.uint8).reshape(len(images), -1)
