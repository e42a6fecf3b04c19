"""The process Python workers are forked from, with the kernels loaded before the first fork.

Loading pandas, Arrow and the compiled loops takes a worker a second or two; forked workers find all of
it in memory. Used through the setting ``spark.python.daemon.module``.

Spark makes a worker collect garbage after every task. With some hundred thousand objects of the libraries
to look through that took a third of all Python time; frozen, they are skipped, and their memory stays
shared between the workers.

Arrays of some hundred kilobytes come and go with every block a function of the user is asked about. The C
library gives such memory back to the system at once, and getting it again costs a fault for every page: a
NumPy function on images took 85 us for a pair instead of 54. So workers keep what they have freed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc

# From the header of the C library: what to give back, how much to fetch at a time, and what to fetch apart.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def main() -> None:
    """Load what every worker needs, then serve as Spark's own daemon does."""
    from pyspark import daemon

    import watersmeet.spark.batch
    import watersmeet.spark.pack
    import watersmeet.spark.processor  # noqa: F401

    keep_freed_memory()
    gc.collect()
    gc.freeze()
    daemon.manager()


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next arrays, where it is one that can be told."""
    # Other systems have no mallopt, and do not need it.
    with contextlib.suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, 1 << 28)
        library.mallopt(_TOP_PAD, 1 << 24)
        library.mallopt(_MMAP_THRESHOLD, 1 << 25)


if __name__ == "__main__":
    main()
