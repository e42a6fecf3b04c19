"""Paths and texts as numbers: what a bucket reports of a batch is a list of numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.plan import ProbePath

# Inputs in a number, four bits each.
_PATH_BITS = 4
_LONGEST_PATH = 15
# A text in numbers of eight bytes; the rest of a longer one is cut off.
TEXT_WORDS = 8


def path_number(path: ProbePath) -> int | None:
    """A path as a number; None for one with too many inputs.

    >>> path_of(path_number(ProbePath(0, (2, 1))), 3)
    (0, 2, 1)
    """
    sequence = path.sequence
    if len(sequence) > _LONGEST_PATH:
        return None
    return sum(part << (_PATH_BITS * place) for place, part in enumerate(sequence))


def path_of(number: int, inputs: int) -> tuple[int, ...]:
    """The order of inputs a number stands for."""
    return tuple((number >> (_PATH_BITS * place)) & ((1 << _PATH_BITS) - 1) for place in range(inputs))


def text_numbers(text: str) -> list[int]:
    """A text as numbers; one that is hard to read is written as Python writes it.

    >>> text_of(text_numbers("Zürich"))
    'Zürich'
    """
    # Shown in a line, and told apart from others: no control characters, and no cut that cannot be seen.
    shown = text if text.isprintable() and text.strip() == text and text else repr(text)
    data = shown.encode()
    if len(data) > 8 * TEXT_WORDS:
        data = data[: 8 * TEXT_WORDS - 3].decode(errors="ignore").encode() + "…".encode()
    data = data.ljust(8 * TEXT_WORDS, b"\0")
    return [int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data), 8)]


def text_of(words: Sequence[int]) -> str:
    """The text some numbers stand for."""
    data = b"".join(word.to_bytes(8, "little", signed=True) for word in words)
    return data.rstrip(b"\0").decode(errors="ignore")
