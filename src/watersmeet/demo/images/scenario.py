"""Which images of three cameras show the same scene?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.demo.answer import as_sent, field_of
from watersmeet.demo.images.cameras import APART, CAMERAS, DELAY, SCENE, Options, feeds
from watersmeet.demo.images.picture import Section, Shot, Strip, draw
from watersmeet.demo.images.reference import Compared, compare, triples
from watersmeet.demo.images.scenes import SIDE, Bytes
from watersmeet.demo.images.similar import NEAR, distances, similar
from watersmeet.demo.scenario import ROW, Check, Feed, InvalidScenario, Scenario
from watersmeet.extras import require_package
from watersmeet.query.duration import describe_duration, to_us
from watersmeet.query.function import Function, predicate

WINDOW = timedelta(seconds=10)
# A spot may hide a scene, and two scenes may look alike, but hardly ever.
_GOOD_ENOUGH = 0.99
_MATCHES_SHOWN, _MISSES_SHOWN = 10, 3


@dataclass(frozen=True, kw_only=True)
class Images(Scenario):
    """The demo of three cameras.

    Attributes:
        out: The file for the picture.
    """

    out: Path

    @property
    def on(self) -> tuple[Function, ...]:
        """North is compared with east, and east with south."""
        return tuple(
            predicate(
                similar, f"{one}.image", f"{other}.image", stacked=True, cost="20 us", selectivity=0.003
            )
            for one, other in (("north", "east"), ("east", "south"))
        )

    @cached_property
    def compared(self) -> tuple[Compared, Compared]:
        """North compared with east, and east with south, without the join."""
        north, east, south = self.feeds
        return compare(north, east, to_us(self.window)), compare(east, south, to_us(self.window))

    def check(self, answer: pa.Table) -> list[Check]:
        """Compare with the answer found without the join, and with the truth."""
        found = [field_of(answer, camera, ROW).to_pylist() for camera in CAMERAS]
        expected = triples(self.feeds, to_us(self.window), self.compared)
        precision, recall = self._precision_and_recall(answer)
        return [
            Check(
                "every result is one image of each camera, as sent",
                all(as_sent(answer, feed) for feed in self.feeds),
            ),
            Check(
                "joined again with NumPy, every image with every other within "
                f"{describe_duration(self.window)}: {len(expected):,}, and the same",
                sorted(zip(*found, strict=True)) == expected,
            ),
            Check(
                f"of the results {precision:.1%} show one scene, and of the scenes that all cameras saw "
                f"{recall:.1%} were found",
                min(precision, recall) >= _GOOD_ENOUGH,
            ),
        ]

    def keepsake(self, answer: pa.Table) -> Path:
        """A picture of some results, and of pairs that were nearly taken for one scene."""
        results = answer.drop_columns("result_time").to_pylist()
        strips = sorted((_strip(result) for result in results), key=lambda strip: sum(strip.distances))
        places = np.linspace(0, len(strips) - 1, min(_MATCHES_SHOWN, len(strips))).astype(int)
        matches = Section(
            "One scene, three cameras",
            f"{len(strips):,} results; some of them, from the most to the least alike. Between two images "
            f"stands their distance: below {NEAR:g} they match.",
            [strips[place] for place in places],
            abreast=2,
            found=True,
        )
        north, east, _ = self.feeds
        nearly = Section(
            "Nearly, but not the same",
            "The closest pairs that were not taken for one scene.",
            [
                _strip({"north": _row(north, one), "east": _row(east, other)})
                for one, other in self.compared[0].closest_misses(_MISSES_SHOWN)
            ],
            abreast=3,
            found=False,
        )
        self.out.write_bytes(draw([matches, nearly]))
        return self.out.resolve()

    def _precision_and_recall(self, answer: pa.Table) -> tuple[float, float]:
        """Of the results the part that is right, and of what is right the part that was found."""
        sent = [set(feed.rows[SCENE].to_pylist()) for feed in self.feeds]
        true = sent[0] & sent[1] & sent[2]
        found = [field_of(answer, camera, SCENE).to_pylist() for camera in CAMERAS]
        right = [one for one, *others in zip(*found, strict=True) if set(others) == {one}]
        return len(right) / max(1, len(answer)), len(set(right)) / max(1, len(true))


def images(options: Options, out: Path) -> Images:
    """Three cameras with scenes in common.

    Raises:
        InvalidScenario: The picture has no place to go.
        watersmeet.extras.MissingPackage: Nobody could draw it.
    """
    require_package("matplotlib")
    if out.is_dir() or not out.parent.is_dir():
        raise InvalidScenario(
            f'"{out}" cannot be a picture',
            "it is a folder." if out.is_dir() else f'there is no folder "{out.parent}".',
            "name a file in a folder that exists.",
        )
    sent = feeds(options)
    story = (
        f"Three cameras send {sum(feed.rows.num_rows for feed in sent):,} images of {SIDE} x {SIDE} pixels. "
        f"A scene that several cameras see comes within {describe_duration(APART)}: moved a little, lighter "
        "or darker, grainy and with a spot on the lens. So no two images are equal, and no key links them. "
        f"Images arrive up to {describe_duration(DELAY)} late. Which three, one of each camera and at most "
        f"{describe_duration(WINDOW)} apart, show the same scene? A Python function compares their pixels."
    )
    return Images(
        title="one scene, three cameras",
        story=story,
        feeds=sent,
        time="ts",
        window=WINDOW,
        batches=options.batches,
        headings=(*CAMERAS, "north to east", "east to south"),
        cells=_cells,
        note=", and how unlike their images are",
        no_time="no time",
        out=out,
    )


def _cells(result: Mapping[str, Any]) -> tuple[str, ...]:
    strip = _strip(result)
    times = [f"{shot.time:%H:%M:%S.%f}"[:-3] for shot in strip.shots]
    return (*times, *(f"{distance:.3f}" for distance in strip.distances))


def _strip(result: Mapping[str, Any]) -> Strip:
    """The images of a result, each compared with the next."""
    shots = tuple(Shot(camera, row["ts"], _pixels(row["image"])) for camera, row in result.items())
    apart = [float(distances(one.image, other.image)[0]) for one, other in pairwise(shots)]
    return Strip(shots, tuple(apart))


def _row(camera: Feed, number: int) -> Mapping[str, Any]:
    row: Mapping[str, Any] = camera.rows.slice(number, 1).to_pylist()[0]
    return row


def _pixels(image: bytes) -> Bytes:
    return np.frombuffer(image, np.uint8)[None, :]
