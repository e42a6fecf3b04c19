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
table.stack td { max-width: 30rem; } table:not(.stack) td:first-child { min-width: 8rem; }
.yes { color: var(--yes); font-weight: 600; } .part { color: var(--part); font-weight: 600; }
.no { color: var(--no); font-weight: 600; }
figure { margin: 1rem 0; overflow-x: auto; }
figure img { max-width: min(100%, 56rem); height: auto; display: block; }
figcaption { color: var(--soft); font-size: .87rem; margin-top: .3rem; }
.yes + span, .part + span, .no + span { white-space: nowrap; }
.why { color: var(--soft); font-size: .87rem; margin-top: .25rem; }
tr.explained td { border-bottom: 0; padding-bottom: 0; } tr.note td { padding-top: .15rem; max-width: none; }
.data { font-size: .87rem; color: var(--soft); margin: .3rem 0; }
.up { font-size: .87rem; font-weight: 400; float: right; }
.bar { display: flex; height: .7rem; min-width: 7rem; margin-top: .45rem; overflow: hidden; }
.bar span { display: block; } .bar .y { background: var(--yes); } .bar .p { background: #d9a520; }
.bar .n { background: var(--no); }
details { margin: .75rem 0; } summary { cursor: pointer; color: var(--link); }
pre { background: var(--tint); padding: .75rem; overflow-x: auto; font-size: .78rem; line-height: 1.3; }
nav { columns: 2; column-gap: 2.5rem; font-size: .92rem; margin: 1rem 0; }
nav section { break-inside: avoid; margin-bottom: .8rem; } nav ul { padding-left: 1.2rem; margin: .2rem 0; }
nav li { margin: .1rem 0; }
@media (max-width: 40rem) {
  body { font-size: 15px; } h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; }
  table.stack, table.stack tbody, table.stack tr, table.stack td { display: block; }
  table.stack thead { display: none; }
  table.stack tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  table.stack td { border: 0; padding: .1rem 0; text-align: left; white-space: normal; }
  nav { columns: 1; }
  /* Plots keep their size and are moved sideways: their labels would be too small to read. */
  figure img { max-width: none; }
  table.claims td:nth-child(1)::before, table.claims td:nth-child(3)::before { display: none !important; }
  table.claims tr.explained { border-bottom: 0; padding-bottom: 0; } table.claims tr.note { padding-top: 0; }
  table.claims tr.note td::before { display: none !important; }
  table.stack td.number { display: inline-block; margin-right: 1.4rem; }
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
    """Text with `code` and *stressed* words in it.

    >>> words("a < `b` *and* 2 * 3 * 4")
    'a &lt; <code>b</code> <em>and</em> 2 * 3 * 4'
    """
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*(\w[^*<]*\w|\w)\*", r"<em>\1</em>", marked)


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


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, stack: bool = False, notes: Sequence[str] = ()
) -> str:
    """A table of cells that are HTML already.

    Args:
        head: Its headings.
        rows: Its cells.
        stack: Whether the cells of a row stand below each other where the screen is narrow.
        notes: A text below each row, empty for none; then it is a table of claims.
    """
    body = [list(row) for row in rows]
    # Numbers stand to the right, below a heading that does; plans are named by digits, and are none.
    kinds = [
        ' class="number"' if name != "plan" and any(cells) and all(_is_number(c) for c in cells if c) else ""
        for name, cells in zip(head, zip(*body, strict=True) if body else [()] * len(head), strict=True)
    ]
    heads = "".join(f"<th{kind}>{escape(cell)}</th>" for cell, kind in zip(head, kinds, strict=True))
    lines = []
    for row, note in zip(body, notes or [""] * len(body), strict=True):
        cells = "".join(
            f'<td{kind} data-head="{escape(name)}">{cell}</td>'
            for cell, name, kind in zip(row, head, kinds, strict=True)
        )
        lines.append(f'<tr class="explained">{cells}</tr>' if note else f"<tr>{cells}</tr>")
        if note:
            lines.append(f'<tr class="note"><td class="why" colspan="{len(head)}">{note}</td></tr>')
    kind = ' class="stack claims"' if notes else ' class="stack"' if stack else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def picture(file: Path, caption: str) -> str:
    """A plot, inside the page. As a picture of its own: names inside two plots may be the same."""
    if not file.exists():
        return paragraphs(f"The plot {file.name} is missing: {caption}.", "small")
    data = b64encode(file.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{words(caption)}</figcaption></figure>"
    )


def anchor(*names: str) -> str:
    """What a link to a section is called.

    >>> anchor("golab", "Fig. 4(a): interval")
    'golab-fig-4-a-interval'
    """
    return "-".join(part for name in names for part in re.findall(r"[a-z0-9]+", name.lower()))


def section(name: str, title: str) -> str:
    """The heading of a large part, with a way back to the top."""
    return f'<h2 id="{name}">{words(title)} <a class="up" href="#top">top</a></h2>'


def data_link(files: Sequence[str]) -> str:
    """Where the figures lie, from the page."""
    links = ", ".join(f'<a href="{file}">{file.rpartition("/")[2]}</a>' for file in files)
    return f'<p class="data">Data: {links}</p>' if files else ""


def folded(summary: str, body: str) -> str:
    """Something that is shown when asked for."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,.]+(?:e[-+]?\d+)?(?: ?[%x])?", cell) is not None
