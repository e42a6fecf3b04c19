"""The kernel that runs an operator of a plan."""

from __future__ import annotations

from collections.abc import Callable

from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.waiting import WaitingJoin
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout

Kernel = MultiwayJoin | WaitingJoin


def kernel_for(plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]) -> Kernel:
    """An empty kernel for one bucket of an operator.

    Args:
        plan: The plan.
        operator: One of its operators.
        layout: The columns of that operator.
        new_id: Names for new runs.
    """
    kind = WaitingJoin if plan.waits(operator) else MultiwayJoin
    return kind.from_plan(plan, operator, layout, new_id)
