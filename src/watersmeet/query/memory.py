"""How much memory a join may take, and which joins can keep to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Attribute
from watersmeet.query.stream import Stream

_DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS = _DECIMAL | {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# More than anybody has; beyond, numbers have no end.
_MOST_DIGITS = 18
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
# Below this, a bucket could not even hold its books.
LEAST_MEMORY = 1 << 20


def parse_bytes(value: object) -> int:
    """A number of bytes, as a number or as people write it.

    >>> parse_bytes("512 MB"), parse_bytes("1.5 GiB")
    (512000000, 1610612736)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        units = {unit.lower(): factor for unit, factor in _UNITS.items()}
        if found is None or found[2].lower() not in units or len(found[1]) > _MOST_DIGITS:
            raise InvalidQuery(
                "the memory cannot be read",
                f"it is {value!r}.",
                f'write a number and a unit, for example "512 MB"; units are {choices(_UNITS)}.',
            )
        size = int(float(found[1]) * units[found[2].lower()])
    if size < LEAST_MEMORY:
        raise InvalidQuery(
            "the memory is too small",
            f"it is {size:,} bytes.",
            f"give at least {LEAST_MEMORY:,} bytes, and some times what a micro-batch has.",
        )
    return size


def refuse_unfit_memory(
    streams: Sequence[Stream], attributes: Sequence[Attribute], memory: int | None
) -> None:
    """Streams without an end need a limit, and what cannot be left for later cannot have one."""
    endless = [stream.name for stream in streams if stream.window.endless]
    if memory is None and not endless:
        return
    placed = [stream.name for stream in streams if stream.site is not None]
    if placed:
        raise InvalidQuery(
            "the memory of a join between sites cannot be limited",
            f"{choices(placed)} arrive at sites.",
            "leave site= out, or memory= out and give every stream a window.",
        )
    counted = [stream.name for stream in streams if stream.window.counts_rows]
    if counted:
        raise InvalidQuery(
            "the memory of a join with windows of rows cannot be limited",
            f"of {choices(counted)} a number of rows is kept, and which these are is known only with all of "
            "them at hand.",
            "leave memory= out, or give every stream a window of time.",
        )
    if any(stream.window.gap_us is not None for stream in streams):
        raise InvalidQuery(
            "the memory of a join of sessions cannot be limited",
            "all rows of a session are at hand when it ends.",
            "leave memory= out, or give every stream a window of time.",
        )
    if not endless:
        return
    if memory is None:
        raise InvalidQuery(
            f'rows of stream "{endless[0]}" would fill the memory',
            "its window is unbounded, so none of them ever goes.",
            'say how much the join may take, for example memory="512 MB"; the rest goes to disk.',
        )
    if len(streams) != 2 or len(endless) != 2:
        raise InvalidQuery(
            "only two streams can be joined without windows, and both must be unbounded",
            f"there are {len(streams)} streams, of which {choices(endless)} "
            f"{'is' if len(endless) == 1 else 'are'} unbounded.",
            "give every stream a window, or join two and write the result to a table.",
        )
    if not any(attribute.among((0, 1)) for attribute in attributes):
        raise InvalidQuery(
            "a join without windows needs an equality",
            "rows go to disk by their key, and nothing says which of them could meet.",
            'join on a column, on="order_id"; other conditions may come with it.',
        )
