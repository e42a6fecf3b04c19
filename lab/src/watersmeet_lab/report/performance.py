"""The part of the page about what was measured on Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from watersmeet_lab.report.benchmarks import BENCHMARKS, Benchmark, details_of
from watersmeet_lab.report.html import anchor, data_link, folded, paragraphs, picture, section, table, words

Measured = Mapping[str, dict[str, Any] | None]
SECTION = "performance"


def headlines(figures: Measured) -> Iterator[str]:
    """The first figure of every benchmark that was run."""
    rows = []
    for one in BENCHMARKS:
        measured = figures[one.name]
        if measured is not None:
            figure = one.figures[0]
            link = f'<a href="#{anchor(SECTION, one.name)}">{one.name}</a>'
            rows.append([link, words(figure.text), _number(measured["figures"].get(figure.name))])
    if rows:
        yield "<h3>On Spark, at a glance</h3>"
        yield table(("benchmark", "what", "measured"), rows, stack=True)


def performance(figures: Measured, folder: Path) -> Iterator[str]:
    """All figures of all benchmarks, with machine and commit; plots lie in `folder`."""
    yield section(SECTION, "Performance on Spark")
    yield paragraphs(
        "Ratios are measured side by side in one run. All systems are checked to find the same results. "
        "A short run "
        "is as long as a coffee, and starting up weighs more in it; the command beside it gives the long one."
    )
    for one in BENCHMARKS:
        yield from _benchmark(one, figures[one.name], folder)


def _benchmark(one: Benchmark, measured: dict[str, Any] | None, folder: Path) -> Iterator[str]:
    yield f'<h3 id="{anchor(SECTION, one.name)}">{one.name}</h3>'
    yield paragraphs(one.about)
    if measured is None:
        yield paragraphs(f"Not run yet: `make bench-{one.name}`.")
        return
    rows = [
        [words(figure.text), _number(measured["figures"][figure.name]), "more" if figure.more else "less"]
        for figure in one.figures
        if figure.name in measured["figures"]
    ]
    yield table(("figure", "measured", "better is"), rows)
    if one.compares and (details := details_of(one, folder)).exists():
        yield from _compared(one.compares, json.loads(details.read_text(encoding="utf-8")))
    if one.chart:
        yield picture(folder / f"{one.name}.svg", one.chart)
        yield data_link([f"performance/{one.name}.csv"])
    on = measured["machine"]
    yield paragraphs(
        f"A {measured['size']} run of {measured['seconds']} s on {on['day']}, commit {on['commit']}: "
        f"{on['processor']}, {on['cores']} cores, {on['memory']}, {on['system']}, "
        f"Python {on['python']}, Spark {on['spark']}. "
        f"`make bench-{one.name}" + (f' ARGS="{measured["arguments"]}"`' if measured["arguments"] else "`"),
        "small",
    )
    yield folded("what it printed", f"<pre>{escape(_trimmed(measured['output']))}</pre>")


def _compared(caption: str, details: Mapping[str, Any]) -> Iterator[str]:
    """A row for each join, a column for each system."""
    systems = list(dict.fromkeys(name for row in details["rows"] for name in row["systems"]))
    cells = [
        [escape(row["name"]), *(_rates(row["systems"].get(name)) for name in systems), _results(row)]
        for row in details["rows"]
    ]
    yield paragraphs(f"{caption}:")
    yield table(("row", *(details["names"][name] for name in systems), "results"), cells)
    yield (
        "<ul>"
        + "".join(f"<li>{escape(row['name'])}: {escape(row['about'])}</li>" for row in details["rows"])
        + "</ul>"
    )


def _rates(outcome: Mapping[str, Any] | str | None) -> str:
    if outcome is None or isinstance(outcome, str):
        return escape(outcome or "")
    steady = _number(outcome["steady"])
    whole = _number(outcome["rate"])
    return f"{steady} ({whole})" if steady else f"({whole})"


def _results(row: Mapping[str, Any]) -> str:
    counts = {one["results"] for one in row["systems"].values() if isinstance(one, dict)}
    return " or ".join(f"{count:,}" for count in sorted(counts))


def _trimmed(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip()


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
