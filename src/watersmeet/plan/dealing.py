"""Whose rows may be dealt out over all buckets where a key is hot, and why there may be none.

Every result, and everything that may come out without partners, has one row of a dealt input, so it is found
in the bucket of that row and nowhere else (`kernel.spreading`). Rows of optional streams are copied: a row
that looks for them has to see all of them where it is.
"""

from __future__ import annotations

from watersmeet.plan.plan import Operator, Plan
from watersmeet.query.kind import ANTI, FULL, SEMI


def may_deal(plan: Plan) -> tuple[int, ...]:
    """The inputs of which rows of a hot key may be dealt out; none where no key is ever spread."""
    if why_not_spread(plan):
        return ()
    return (0,) if plan.root.kind in (SEMI, ANTI) else plan.root.required


def why_not_spread(plan: Plan) -> str:
    """Why all rows of a key are in one bucket, however hot it is; empty where they need not be.

    There is one operator, in which all rows meet by a key, in windows of time.
    """
    root, query = plan.root, plan.query
    reasons = {
        "no key": not root.key,
        "full join": root.kind == FULL,
        "no windows": plan.endless,
        "sessions": query.gap_us is not None,
        "hopping windows": query.slots is not None,
        "windows of rows": plan.waits(root),
        "several operators": any(isinstance(part, Operator) for part in root.inputs),
        "a stream without the key": bool(root.replicated),
        "one bucket": plan.buckets == 1,
    }
    return next((reason for reason, given in reasons.items() if given), "")
