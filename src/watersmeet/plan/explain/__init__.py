"""Plans explained: the facts once, as text, as JSON and as a picture."""

from __future__ import annotations

from watersmeet.errors import InvalidPlanning, choices
from watersmeet.plan.explain.diagram import as_mermaid
from watersmeet.plan.explain.facts import explanation
from watersmeet.plan.explain.json import as_json
from watersmeet.plan.explain.text import as_text
from watersmeet.plan.forecast import Forecast
from watersmeet.plan.measured import Measured
from watersmeet.plan.plan import Plan

FORMS = {"text": as_text, "json": as_json, "mermaid": as_mermaid}


def explain(
    plan: Plan,
    forecast: Forecast | None = None,
    measured: Measured | None = None,
    *,
    verbose: bool = False,
    form: str = "text",
) -> str:
    """Render a plan.

    Args:
        plan: The plan.
        forecast: What it is expected to do; None leaves figures out.
        measured: What it was seen to do.
        verbose: Also what else was considered.
        form: ``"text"``, ``"json"`` or ``"mermaid"``.
    """
    if form not in list(FORMS):
        raise InvalidPlanning(
            f'there is no form "{form}" of a plan', f"there are {len(FORMS)}.", f"valid are {choices(FORMS)}."
        )
    return FORMS[form](explanation(plan, forecast, measured, verbose=verbose))
