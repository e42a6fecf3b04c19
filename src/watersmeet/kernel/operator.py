"""The kernel that runs an operator of a plan."""

from __future__ import annotations

from collections.abc import Callable

from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.kinds import KINDS, AnyJoin
from watersmeet.kernel.outer import OuterJoin
from watersmeet.kernel.semi import SemiJoin
from watersmeet.kernel.sessions import SessionJoin
from watersmeet.kernel.waiting import WaitingJoin
from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout

Kernel = AnyJoin | WaitingJoin | SessionJoin


def kernel_for(plan: Plan, operator: Operator, layout: OperatorLayout, new_id: Callable[[], str]) -> Kernel:
    """An empty kernel for one bucket of an operator.

    Args:
        plan: The plan.
        operator: One of its operators.
        layout: The columns of that operator.
        new_id: Names for new runs.
    """
    return kernel_kind(plan, operator).from_plan(plan, operator, layout, new_id)


def kernel_kind(
    plan: Plan, operator: Operator
) -> type[MultiwayJoin] | type[WaitingJoin] | type[SessionJoin] | type[OuterJoin] | type[SemiJoin]:
    """What runs an operator: rows that live by count, or in sessions, wait for the watermark."""
    if plan.query.gap_us is not None:
        return SessionJoin
    return WaitingJoin if plan.waits(operator) else KINDS[operator.kind]
