"""A plan for programs."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from watersmeet.plan.explain.facts import Explanation
from watersmeet.plan.explain.site_facts import SiteExplanation
from watersmeet.stats import Figure


def as_json(facts: Explanation | SiteExplanation) -> str:
    """All facts; a figure is its value and how well it is known."""
    return json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Figure):
        return {"value": value.value, "known": value.known.name.lower()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
