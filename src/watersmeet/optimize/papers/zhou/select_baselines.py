"""Other ways to choose between possible PMJoins, to compare `select` with (Zhou et al. 2006, Sect. 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from watersmeet.cost.traffic import Traffic
from watersmeet.optimize.sites.partition.find_partition import Candidate
from watersmeet.optimize.sites.partition.select import compatible, select


def select_random(candidates: Sequence[Candidate], *, seed: int) -> tuple[Candidate, ...]:
    """Picked at random until none is left."""
    order = np.random.default_rng(seed).permutation(len(candidates))
    return compatible(candidates[number] for number in order)


def select_alternative(candidates: Sequence[Candidate], traffic: Traffic) -> tuple[Candidate, ...]:
    """Chosen the same way among those that `select` gave up."""
    chosen = select(candidates, traffic)
    return select([candidate for candidate in candidates if candidate not in chosen], traffic)
