"""Where the inner loop goes on at its next call, and what it has counted so far."""

from __future__ import annotations

from typing import Any

import numpy as np

# Cursor layout: where to go on, and what was counted. After these come, per window, hit and row.
CURSOR_KEY, CURSOR_ROW, CURSOR_INSIDE, EXAMINED, LOOKUPS, OF_KEY, OF_VALUES = range(7)
CURSOR_WINDOWS = 7


def new_cursor(windows: int) -> Any:
    """A cursor at the first row."""
    cursor = np.zeros(CURSOR_WINDOWS + 2 * windows, np.int64)
    cursor[CURSOR_ROW] = -1
    return cursor
