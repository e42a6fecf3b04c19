"""Results so far, over time, as a picture of characters."""

from __future__ import annotations

from collections.abc import Sequence

# Eighths of a character, from below.
_BARS = " ▁▂▃▄▅▆▇█"


def curve_lines(points: Sequence[tuple[float, int]], *, width: int = 60, height: int = 6) -> list[str]:
    r"""A curve that rises to the right: one column per stretch of time, as high as the results by its end.

    Args:
        points: Seconds after the start and results found until then.
        width: Columns of the curve.
        height: Lines of the curve.

    >>> print("\n".join(curve_lines([(1.0, 100), (2.0, 400)], width=8, height=2)))
         400 │       █
             │   ▄▄▄▄█
           0 └────────
              0 s  2 s
    """
    if not points:
        return []
    end = max(points[-1][0], 1e-9)
    most = max(points[-1][1], 1)
    levels = [_found(points, end * (column + 1) / width) for column in range(width)]
    eighths = [round(8 * height * level / most) for level in levels]
    lines = []
    for line in range(height - 1, -1, -1):
        label = f"{most:,}" if line == height - 1 else ""
        bars = "".join(_BARS[min(8, max(0, filled - 8 * line))] for filled in eighths)
        lines.append(f"{label:>12} │{bars}".rstrip())
    lines.append(f"{0:>12} └{'─' * width}")
    last = f"{end:.0f} s"
    lines.append(" " * 14 + "0 s" + last.rjust(width - 3))
    return lines


def _found(points: Sequence[tuple[float, int]], moment: float) -> int:
    """Results by a moment."""
    found = 0
    for seconds, results in points:
        if seconds > moment:
            break
        found = results
    return found
