"""What Watersmeet says when something is wrong: a fact, a detail, a hint.

>>> print(InvalidStream('window of stream "clicks" is not positive', "it is 0 s.", "give it a length."))
window of stream "clicks" is not positive
detail: it is 0 s.
hint: give it a length.
"""

from __future__ import annotations

from collections.abc import Iterable


class WatersmeetError(Exception):
    """Base of every error raised on purpose.

    Args:
        fact: What is wrong, in one short lower-case line.
        detail: Why it matters or what was found.
        hint: What to do about it.
    """

    def __init__(self, fact: str, detail: str = "", hint: str = "") -> None:
        """Keep the three parts apart, so that tests and tools need not parse text."""
        super().__init__(fact, detail, hint)
        self.fact = fact
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        """The parts that were given, one per line."""
        parts = [self.fact]
        if self.detail:
            parts.append(f"detail: {self.detail}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class InvalidStream(WatersmeetError, ValueError):
    """A stream's name, columns, time, window or lateness cannot be used."""


class InvalidQuery(WatersmeetError, ValueError):
    """The streams are fine one by one, but cannot be joined as asked."""


class InvalidPredicate(WatersmeetError, ValueError):
    """A function that cannot be a condition of a join."""


class PredicateFailed(WatersmeetError, RuntimeError):
    """The function of a condition raised an error, or returned something that says nothing."""


class InvalidStatistics(WatersmeetError, ValueError):
    """Figures about the data that cannot be true."""


class InvalidPlanning(WatersmeetError, ValueError):
    """An optimizer, a cost model or a setting that does not exist, or a plan that could not run."""


class InvalidSettings(WatersmeetError, ValueError):
    """Spark is configured in a way that would lose results or cannot hold the state."""


class InvalidProgress(WatersmeetError, TypeError):
    """Metrics were to be read from something that is not the progress of a query."""


class SpillFailed(WatersmeetError, OSError):
    """Rows that have to leave memory cannot be written."""


class UnsafeFolder(WatersmeetError, RuntimeError):
    """A folder for local files, or for end markers, is open to other users."""


class StillRunning(WatersmeetError, TimeoutError):
    """Something was not done in the time it was given."""


class CheckpointMismatch(WatersmeetError, RuntimeError):
    """The checkpoint belongs to another query."""


class WorkerSetup(WatersmeetError, RuntimeError):
    """A Python worker lacks what the join needs."""


class JavaNotFound(WatersmeetError, RuntimeError):
    """Spark needs Java 17 or newer and none was found."""


class ConditionFailed(WatersmeetError, ArithmeticError):
    """A condition has no value for some rows: an overflow, or a division by zero."""


class InvalidSimulation(WatersmeetError, ValueError):
    """A network or a workload that cannot be simulated."""


class DamagedMessage(WatersmeetError, RuntimeError):
    """A message between sites cannot be read."""


class MailConflict(WatersmeetError, RuntimeError):
    """A site has sent different mail under one number."""


class DamagedRun(WatersmeetError, RuntimeError):
    """Stored state fails its checksum and cannot be used."""


class UnreadableFile(WatersmeetError, ValueError):
    """A file of a stream cannot be read, or has columns of other types."""


class RowsGone(WatersmeetError, RuntimeError):
    """Rows of a batch were removed before they reached their bucket."""


def choices(names: Iterable[str]) -> str:
    """The valid names, ready for a hint.

    >>> choices(["ts", "id"])
    '"ts", "id"'
    """
    return ", ".join(f'"{name}"' for name in names)
