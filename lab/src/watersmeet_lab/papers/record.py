"""What a page says, as plain data beside its plots: other pages are made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet_lab.papers.claim import Claim
from watersmeet_lab.papers.page import Experiment

if TYPE_CHECKING:
    from watersmeet_lab.papers.bench import Paper

RECORD = "page.json"


def write_record(paper: Paper, experiments: Sequence[Experiment], out: Path) -> None:
    """Keep what was found."""
    said = {
        "title": paper.title,
        "introduction": paper.introduction,
        "command": paper.command,
        "experiments": [_experiment(experiment) for experiment in experiments],
    }
    text = json.dumps(said, indent=1, ensure_ascii=False) + "\n"
    (out / RECORD).write_text(text, encoding="utf-8")


def _experiment(experiment: Experiment) -> dict[str, Any]:
    return {
        "title": experiment.title,
        "setting": experiment.setting,
        "claims": [_claim(claim) for claim in experiment.claims],
        "tables": [
            {"name": table.name, "head": list(table.head), "rows": [list(row) for row in table.rows]}
            for table in experiment.tables
        ],
        "charts": [{"name": chart.name, "caption": chart.caption} for chart in experiment.charts],
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "text": claim.text,
        "found": claim.found,
        "verdict": claim.verdict.value,
        "draws": [int(sum(claim.draws)), len(claim.draws)],
        "origin": claim.origin,
        "why": " ".join(claim.known.why.split()) if claim.known and not claim.changed else "",
        "changed": bool(claim.changed),
    }
