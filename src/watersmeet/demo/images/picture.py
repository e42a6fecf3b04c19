"""Images side by side: what was found to be one scene, and what nearly was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING

from watersmeet.demo.images.scenes import SIDE, Bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# All lengths in inches.
_IMAGE, _BETWEEN, _TIME = 1.15, 0.5, 0.32
_MARGIN, _HEADING, _WIDTH = 0.4, 0.95, 10.4
_DOTS_PER_INCH = 110
_INK, _GREY, _YES, _NO = "#222222", "#777777", "#009E73", "#D55E00"


@dataclass(frozen=True, slots=True)
class Shot:
    """One image of a camera."""

    camera: str
    time: datetime
    image: Bytes


@dataclass(frozen=True, slots=True)
class Strip:
    """Images beside each other, with the distances between neighbours."""

    shots: tuple[Shot, ...]
    distances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Strips under a heading.

    Attributes:
        heading: What they are.
        explanation: How to read them.
        strips: The strips, all with as many images.
        abreast: How many of them stand beside each other.
        found: Whether the join has found them.
    """

    heading: str
    explanation: str
    strips: Sequence[Strip]
    abreast: int
    found: bool

    @property
    def height(self) -> float:
        """In inches."""
        return _HEADING + ceil(len(self.strips) / self.abreast) * (_IMAGE + _TIME)


def draw(sections: Sequence[Section]) -> bytes:
    """All sections, one below the other, as a PNG file."""
    # Slow to load. Without pyplot there is no figure that outlives this call.
    from matplotlib.figure import Figure

    height = sum(section.height for section in sections) + _MARGIN
    figure = Figure(figsize=(_WIDTH, height), dpi=_DOTS_PER_INCH, facecolor="white")
    page = _Page(figure, _WIDTH, height)
    top = 0.0
    for section in sections:
        page.section(section, top)
        top += section.height
    written = BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()


@dataclass(frozen=True, slots=True)
class _Page:
    """A figure measured in inches from its upper left corner."""

    figure: Figure
    width: float
    height: float

    def section(self, section: Section, top: float) -> None:
        self.text(_MARGIN, top + 0.42, section.heading, size=14, weight="bold")
        self.text(_MARGIN, top + 0.66, section.explanation, size=9, colour=_GREY)
        for number, strip in enumerate(section.strips):
            row, column = divmod(number, section.abreast)
            # The last ends where the page does.
            width = len(strip.shots) * (_IMAGE + _BETWEEN) - _BETWEEN
            left = _MARGIN + column * (_WIDTH - 2 * _MARGIN - width) / (section.abreast - 1)
            self.strip(strip, left, top + _HEADING + row * (_IMAGE + _TIME), found=section.found)

    def strip(self, strip: Strip, left: float, top: float, *, found: bool) -> None:
        for number, shot in enumerate(strip.shots):
            x = left + number * (_IMAGE + _BETWEEN)
            self.image(shot.image, x, top)
            self.text(x, top + _IMAGE + 0.15, f"{shot.camera}  {shot.time:%H:%M:%S}", size=7.5, colour=_GREY)
        for number, distance in enumerate(strip.distances):
            x = left + _IMAGE + _BETWEEN / 2 + number * (_IMAGE + _BETWEEN)
            colour = _YES if found else _NO
            self.text(
                x, top + _IMAGE / 2, f"{distance:.2f}", size=9, colour=colour, weight="bold", align="center"
            )

    def image(self, image: Bytes, left: float, top: float) -> None:
        place = (
            left / self.width,
            1 - (top + _IMAGE) / self.height,
            _IMAGE / self.width,
            _IMAGE / self.height,
        )
        frame = self.figure.add_axes(place)
        frame.set_axis_off()
        # Pixels as they are: this is what the function was given.
        frame.imshow(image.reshape(3, SIDE, SIDE).transpose(1, 2, 0), interpolation="nearest")

    def text(
        self,
        left: float,
        top: float,
        text: str,
        *,
        size: float,
        colour: str = _INK,
        weight: str = "normal",
        align: str = "left",
    ) -> None:
        self.figure.text(
            left / self.width,
            1 - top / self.height,
            text,
            size=size,
            color=colour,
            weight=weight,
            ha=align,
            va="center",
        )
