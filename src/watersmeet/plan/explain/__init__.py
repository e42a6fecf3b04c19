"""Plans explained: the facts once, as text, as JSON and as a picture."""

from __future__ import annotations

from watersmeet.errors import InvalidPlanning, choices
from watersmeet.plan.explain.diagram import as_mermaid
from watersmeet.plan.explain.facts import explanation
from watersmeet.plan.explain.json import as_json
from watersmeet.plan.explain.site_diagram import as_site_mermaid
from watersmeet.plan.explain.site_facts import site_explanation
from watersmeet.plan.explain.site_text import as_site_text
from watersmeet.plan.explain.text import as_text
from watersmeet.plan.forecast import Forecast
from watersmeet.plan.measured import Measured, MeasuredDeployment
from watersmeet.plan.plan import Plan
from watersmeet.plan.sites.plan import SitePlan

FORMS = {"text": as_text, "json": as_json, "mermaid": as_mermaid}
SITE_FORMS = {"text": as_site_text, "json": as_json, "mermaid": as_site_mermaid}


def explain(
    plan: Plan,
    forecast: Forecast | None = None,
    measured: Measured | MeasuredDeployment | None = None,
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
    _refuse_unknown(form)
    return FORMS[form](explanation(plan, forecast, measured, verbose=verbose))


def explain_sites(
    plan: SitePlan,
    measured: MeasuredDeployment | None = None,
    *,
    verbose: bool = False,
    form: str = "text",
) -> str:
    """Render a plan between sites.

    Args:
        plan: The plan.
        measured: What it was seen to do.
        verbose: Also what else was considered.
        form: ``"text"``, ``"json"`` or ``"mermaid"``.
    """
    _refuse_unknown(form)
    return SITE_FORMS[form](site_explanation(plan, measured, verbose=verbose))


def _refuse_unknown(form: str) -> None:
    if form not in list(FORMS):
        raise InvalidPlanning(
            f'there is no form "{form}" of a plan', f"there are {len(FORMS)}.", f"valid are {choices(FORMS)}."
        )
