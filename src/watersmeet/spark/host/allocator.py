"""What becomes of memory that a worker has freed: kept for speed, or given back where memory is limited.

Arrays of some hundred kilobytes come and go with every block a function of the user is asked about. The C
library gives such memory back to the system at once, and getting it again costs a fault for every page: a
NumPy function on images took 85 us for a pair instead of 54. So workers keep what they have freed, unless the
join they work for has a limit to its memory.
"""

from __future__ import annotations

import contextlib
import ctypes
from functools import cache
from pathlib import Path
from typing import Any

# From the header of the C library: what to give back, how much to fetch at a time, and what to fetch apart.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next arrays, where it is one that can be told."""
    _tell((_TRIM_THRESHOLD, 1 << 28), (_TOP_PAD, 1 << 24), (_MMAP_THRESHOLD, 1 << 25))


def return_freed_memory() -> None:
    """Give all that is free back to the system, now and from now on."""
    import pyarrow as pa

    _back_to_normal()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):
        _library().malloc_trim(0)


def own_memory() -> int | None:
    """Bytes this process has of its own, pages of files left out; None where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return None


@cache
def _back_to_normal() -> None:
    import pyarrow as pa

    _tell((_TRIM_THRESHOLD, 1 << 17), (_TOP_PAD, 1 << 17), (_MMAP_THRESHOLD, 1 << 17))
    # Arrow's own allocator keeps freed pages for a while; the C library's gives large pieces back at once.
    pa.set_memory_pool(pa.system_memory_pool())


def _tell(*settings: tuple[int, int]) -> None:
    # Other systems have no mallopt, and do not need it.
    with contextlib.suppress(AttributeError, OSError):
        for name, value in settings:
            _library().mallopt(name, value)


@cache
def _library() -> Any:
    return ctypes.CDLL(None)
