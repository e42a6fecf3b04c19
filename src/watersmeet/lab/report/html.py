"""Pieces of a page: text, tables and pictures in HTML that needs no other file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light; --ink: #1b2733; --soft: #5b6b7a; --line: #d9e0e6; --paper: #fff; --tint: #f4f7f9;
  --yes: #14725c; --part: #8a6100; --no: #a8321a; --link: #0b62a4; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 1rem 0 .25rem; }
h2 { font-size: 1.5rem; margin: 3.5rem 0 .5rem; padding-top: .75rem; border-top: 3px solid var(--ink); }
h3 { font-size: 1.12rem; margin: 2.25rem 0 .5rem; }
p { max-width: 46rem; margin: .6rem 0; }
.lead { font-size: 1.1rem; color: var(--soft); }
.small { font-size: .87rem; color: var(--soft); }
a { color: var(--link); }
code { background: var(--tint); padding: .05em .3em; border-radius: 3px; font-size: .92em; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .92rem; min-width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .7rem .4rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
table.stack td { max-width: 30rem; }
.yes { color: var(--yes); font-weight: 600; } .part { color: var(--part); font-weight: 600; }
.no { color: var(--no); font-weight: 600; }
figure { margin: 1rem 0; } figure img { max-width: min(100%, 56rem); height: auto; display: block; }
figcaption { color: var(--soft); font-size: .87rem; margin-top: .3rem; }
.yes + span, .part + span, .no + span { white-space: nowrap; }
.why { color: var(--soft); font-size: .87rem; margin-top: .25rem; }
.bar { display: flex; height: .7rem; min-width: 7rem; margin-top: .45rem; overflow: hidden; }
.bar span { display: block; } .bar .y { background: var(--yes); } .bar .p { background: #d9a520; }
.bar .n { background: var(--no); }
details { margin: .75rem 0; } summary { cursor: pointer; color: var(--link); }
pre { background: var(--tint); padding: .75rem; overflow-x: auto; font-size: .78rem; line-height: 1.3; }
nav ol { padding-left: 1.2rem; margin: .5rem 0; } nav li { margin: .15rem 0; }
@media (max-width: 40rem) {
  body { font-size: 15px; } h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; }
  table.stack, table.stack tbody, table.stack tr, table.stack td { display: block; }
  table.stack thead { display: none; }
  table.stack tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  table.stack td { border: 0; padding: .1rem 0; text-align: left; white-space: normal; }
  table.stack td::before { content: attr(data-head); color: var(--soft); font-size: .8rem; display: block; }
}
@media print { main { max-width: none; } details { display: block; } }
"""


def document(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def words(text: str) -> str:
    """Text with `code` in it.

    >>> words("a < `b`")
    'a &lt; <code>b</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def grouped(cell: str) -> str:
    """A long number in groups of three digits; anything else as it is.

    >>> grouped("176802"), grouped("4321"), grouped("12,5")
    ('176,802', '4321', '12,5')
    """
    return f"{int(cell):,}" if re.fullmatch(r"\d{5,}", cell) else cell


def paragraphs(text: str, kind: str = "") -> str:
    """Paragraphs that are separated by empty lines."""
    start = f'<p class="{kind}">' if kind else "<p>"
    return "\n".join(f"{start}{words(' '.join(part.split()))}</p>" for part in text.split("\n\n"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, stack: bool = False) -> str:
    """A table of cells that are HTML already; `stack` puts the cells of a row below each other if narrow."""
    body = [list(row) for row in rows]
    # Numbers stand to the right, below a heading that does.
    kinds = [
        ' class="number"' if any(cells) and all(_is_number(cell) for cell in cells if cell) else ""
        for cells in zip(*body, strict=True)
    ] or [""] * len(head)
    heads = "".join(f"<th{kind}>{escape(cell)}</th>" for cell, kind in zip(head, kinds, strict=True))
    lines = []
    for row in body:
        cells = "".join(
            f'<td{kind} data-head="{escape(name)}">{cell}</td>'
            for cell, name, kind in zip(row, head, kinds, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    kind = ' class="stack"' if stack else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def picture(file: Path, caption: str) -> str:
    """A plot, inside the page. As a picture of its own: names inside two plots may be the same."""
    data = b64encode(file.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{words(caption)}</figcaption></figure>"
    )


def folded(summary: str, body: str) -> str:
    """Something that is shown when asked for."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,.]+(?:e[-+]?\d+)?(?: ?[%x])?", cell) is not None
