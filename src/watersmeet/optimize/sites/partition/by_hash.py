"""Groups by a hash of the value: as good as random (Zhou et al. 2006, Sect. 3.3, item 1)."""

from __future__ import annotations

from hashlib import blake2b

from watersmeet.optimize.sites.partition.groups import Groups, grouped, require_groups


def by_hash(values: int, groups: int, *, seed: int = 0) -> Groups:
    """Values spread over at most so many groups; the same on every machine.

    >>> by_hash(6, 1)
    ((0, 1, 2, 3, 4, 5),)
    """
    require_groups(values, groups)
    return grouped(_hash(value, seed) % groups for value in range(values))


def _hash(value: int, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed} {value}".encode(), digest_size=8).digest(), "little")
