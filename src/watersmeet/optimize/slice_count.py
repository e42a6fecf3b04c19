"""Into how many slices the windows of a join without a key are cut.

Comparing is shared out over the slices; sending is not, since every new row goes to every slice (Wang &
Rundensteiner 2009, Sect. 5). On a ring the time of a hop sets a limit (`papers.wang_rundensteiner.length`).
In Spark all slices are reached at once, so more of them are quicker as long as there are cores; the price is
the work of all the copies. It is kept to a small part of what comparing takes.
"""

from __future__ import annotations

from watersmeet.cost.ring import Step, Times, central_work, sending_work
from watersmeet.cost.sizes import Sizes
from watersmeet.plan import Operator

# What it takes to pack, move and unpack one copy of a row: so much for the row, and so much for each byte.
_SEND_ROW, _SEND_BYTE = 1e-6, 2e-9
# Of the work of comparing, this part may be spent on copies.
_SPENT_ON_COPIES = 0.1
_FEWEST = 2


def slice_count(operator: Operator, sizes: Sizes, most: int) -> int:
    """The number of slices for an operator, of at most so many; `most` if too little is known.

    More than a few slices have no use for a predicate that takes less than sending a row.
    """
    found = [_slices(operator, sizes, head) for head in (0, 1)]
    known = [number for number in found if number is not None]
    return max(_FEWEST, min(most, int(max(known)))) if len(known) == len(found) else most


def _slices(operator: Operator, sizes: Sizes, head: int) -> float | None:
    """How many slices the rows of one input can be sent to."""
    own, other = operator.inputs[head], operator.inputs[1 - head]
    rate, alive = sizes.arriving(other.streams), sizes.alive_together(other.streams)
    if not (rate.is_known and alive.is_known and rate.number > 0 and alive.number > 0):
        return None
    asking = sum(sizes.asking(sizes.query.conditions[n]) for n in operator.conditions)
    weight = sizes.row_bytes(own.streams)
    send = _SEND_ROW + _SEND_BYTE * (weight.number if weight.is_known else 0.0)
    steps = [Step(rate.number, alive.number / rate.number, 1.0)]
    times = Times(compare=asking, send=send)
    return _SPENT_ON_COPIES * central_work(steps, times) / sending_work(steps, times)
