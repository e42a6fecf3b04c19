"""Settings of a plan that this query has no use for."""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.errors import InvalidPlanning
from watersmeet.optimize.keyless import ALIGNED, SLICED
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Operator
from watersmeet.plan.plan import operators


def refuse_idle_settings(
    root: Operator, planning: Planning, given: Collection[str] = ("routing", "segment", "spread")
) -> None:
    """Raise InvalidPlanning for a setting that somebody gave and this plan has no use for."""
    idle = {
        "routing": planning.routing != SLICED,
        "segment": planning.segment is not None,
        "spread": planning.spread is not None,
    }
    because = "all rows of this query meet by a key."
    if any(not operator.key or operator.replicated for operator in operators(root)):
        other = planning.routing
        idle = {
            "segment": idle["segment"] and other != ALIGNED,
            "spread": idle["spread"] and other != SLICED,
        }
        because = f'segment is for routing="{ALIGNED}", spread for routing="{SLICED}"; it is "{other}".'
    for name, useless in idle.items():
        if useless and name in given:
            raise InvalidPlanning(f"{name} would change nothing", because, f"leave {name} out.")
