"""Functions that are asked only about complete combinations.

A function costs a thousand times what it takes to look up a row. Where the windows that are still to come
leave fewer combinations than there are pairs, it is asked after them: about pairs that got there, and about
each of them once (`kernel.conditions.FunctionsHold`).

    a -> b, similar(a, b) -> c        1,000 pairs asked,  10 of them find a c
    a -> b -> c, similar(a, b)           10 pairs asked
"""

from __future__ import annotations

from watersmeet.cost.sizes import Sizes
from watersmeet.plan import Operator


def late_functions(operator: Operator, sizes: Sizes) -> tuple[int, ...]:
    """The conditions of an operator that wait until all rows are bound."""
    return tuple(number for number in operator.conditions if _waits(operator, sizes, number))


def _waits(operator: Operator, sizes: Sizes, number: int) -> bool:
    condition = sizes.query.conditions[number]
    if condition.function is None:
        return False
    asked = [part.streams for part in operator.inputs if condition.streams & set(part.streams)]
    if len(asked) == len(operator.inputs):
        return False
    bound = {stream for streams in asked for stream in streams}
    before, after = sizes.alive_together(bound), sizes.alive_together(operator.streams)
    if not (before.is_known and after.is_known):
        # By the key others are found quickly, and mostly few; without one every row is a partner.
        return bool(operator.key) and not operator.replicated
    return after.number < before.number
