"""Ctrl-C at a safe point.

A KeyboardInterrupt may strike inside a call to Spark's JVM; the half-read answer then confuses every
later call, the ones that clean up included. Here a signal only raises a flag, and the program asks for it
where stopping is safe.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Interrupted(Exception):
    """Somebody asked the program to stop.

    Args:
        signal_number: The first signal that did.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal.Signals(signal_number).name)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """What a shell reports for a program ended by that signal: 130 for Ctrl-C."""
        return 128 + self.signal_number


class Interrupts:
    """Remembers whether a signal to stop has come."""

    def __init__(self) -> None:
        self._received: int | None = None

    def check(self) -> None:
        """Stop here if somebody asked for it.

        Raises:
            Interrupted: A signal has come.
        """
        if self._received is not None:
            raise Interrupted(self._received)

    def receive(self, signal_number: int, _frame: FrameType | None) -> None:
        """Remember the first signal; this is what the system calls."""
        self._received = self._received or signal_number


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Collect Ctrl-C, termination and a closed terminal while the block runs."""
    received = Interrupts()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = [signal.signal(number, received.receive) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)
