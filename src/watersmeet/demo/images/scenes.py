"""Made-up landscapes: a sky with a sun or moon, hills and houses, no two alike."""

from __future__ import annotations

import colorsys

import numpy as np
import numpy.typing as npt

# Pixels along a side.
SIDE = 48

Bytes = npt.NDArray[np.uint8]
# Red, green and blue, each an array of SIDE x SIDE, from 0 to 255.
Canvas = npt.NDArray[np.float64]

_DARK, _LIGHT = (0.05, 0.3), (0.7, 1.0)
_Y, _X = np.mgrid[0:SIDE, 0:SIDE]


def landscape(random: np.random.Generator) -> Canvas:
    """Draw a landscape, from the sky to the front.

    Example:
        >>> landscape(np.random.default_rng(1)).shape
        (3, 48, 48)
    """
    dark = random.random() < 0.4
    canvas = _sky(random, _DARK if dark else _LIGHT)
    _put_sun(canvas, random)
    horizon = random.uniform(0.3, 0.55) * SIDE
    for _ in range(random.integers(2, 5)):
        # Light and dark take turns, so that every line can be seen.
        dark = not dark
        _put_hills(canvas, random, horizon, _DARK if dark else _LIGHT)
        horizon += random.uniform(0.1, 0.2) * SIDE
    for _ in range(random.integers(3, 7)):
        _put_house(canvas, random)
    return canvas


def _colour(random: np.random.Generator, light: tuple[float, float]) -> Canvas:
    """Any hue; a colour stands above a canvas as one value per channel."""
    rgb = colorsys.hsv_to_rgb(random.random(), random.uniform(0.2, 0.8), random.uniform(*light))
    return 255 * np.array(rgb)


def _sky(random: np.random.Generator, light: tuple[float, float]) -> Canvas:
    above, below = _colour(random, light), _colour(random, light)
    down = _Y / SIDE
    sky: Canvas = above[:, None, None] * (1 - down) + below[:, None, None] * down
    return sky


def _put_sun(canvas: Canvas, random: np.random.Generator) -> None:
    x, y = random.uniform(0.1, 0.9) * SIDE, random.uniform(0.1, 0.4) * SIDE
    disc = (_X - x) ** 2 + (_Y - y) ** 2 < random.uniform(3, 9) ** 2
    canvas[:, disc] = _colour(random, _LIGHT)[:, None]


def _put_hills(
    canvas: Canvas, random: np.random.Generator, horizon: float, light: tuple[float, float]
) -> None:
    along = np.arange(SIDE) / SIDE * 2 * np.pi
    line = np.full(SIDE, horizon)
    for waves in (1, 2, 4):
        height, start = random.normal(0, 6 / waves), random.uniform(0, 2 * np.pi)
        line += height * np.sin(waves * along + start)
    canvas[:, line < _Y] = _colour(random, light)[:, None]


def _put_house(canvas: Canvas, random: np.random.Generator) -> None:
    width, height = random.integers(6, 13), random.integers(5, 13)
    left, bottom = random.integers(2, SIDE - width - 2), random.integers(SIDE * 5 // 8, SIDE - 2)
    top = bottom - height
    canvas[:, top:bottom, left : left + width] = _colour(random, (0.3, 1.0))[:, None, None]
    # As high as half its width: one pixel less on either side with every pixel up.
    roof = (top > _Y) & (np.abs(left + (width - 1) / 2 - _X) <= _Y - top + width / 2)
    canvas[:, roof] = _colour(random, _DARK)[:, None]
    window = (slice(top + 2, top + 4), slice(left + 1, left + 3))
    canvas[:, *window] = np.array([255, 240, 150])[:, None, None]
