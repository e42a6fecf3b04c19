"""A file that a worker has mapped, and by what a change of it is noticed."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import NamedTuple


class Stamp(NamedTuple):
    """By what a changed file is noticed."""

    size: int
    modified_ns: int
    inode: int


class MappedFile:
    """A file held open for as long as somebody refers to it, as its mapping is.

    Attributes:
        content: All of it, where it lies.
        stamp: What it looked like when it was mapped.
    """

    def __init__(self, path: Path, length: int | None = None) -> None:
        """Open and map a file.

        The size comes first: touching a page beyond the end of a mapped file kills the process.

        Raises:
            OSError: It cannot be opened.
            ValueError: It is empty, or not as long as it should be.
        """
        self._descriptor = os.open(path, os.O_RDONLY)
        self.stamp = self._look()
        if length is not None and self.stamp.size != length:
            raise ValueError(f"it has {self.stamp.size} bytes instead of {length}")
        self.content = memoryview(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ))

    def is_unchanged(self) -> bool:
        """Whether the bytes are still those that were mapped.

        The open file is asked, not its name: a file may be changed and then deleted or replaced, while one
        that is only deleted stays mapped as it was.
        """
        return self._look() == self.stamp

    def _look(self) -> Stamp:
        status = os.fstat(self._descriptor)
        return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)

    def __del__(self) -> None:
        """Nothing to close when it could not be opened."""
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)
