"""Examples on pages of the documentation: run, and compared with what stands below them."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Pages whose examples need more than Spark: tests/kafka and tests/delta run them.
KAFKA_PAGE, DELTA_PAGE = ROOT / "docs" / "kafka.md", ROOT / "docs" / "delta.md"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Language, text and line of each fenced block."""
    text = page.read_text()
    for match in _BLOCK.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start()) + 2


def run_page(page: Path, namespace: dict[str, Any], **other: str) -> None:
    """Python blocks run one after the other; a text block after one is what it prints.

    Args:
        page: The page.
        namespace: The names they take for granted.
        other: Texts of the page that are others here: ``old`` is replaced by ``new``.
    """
    printed: str | None = None
    for language, text, line in blocks(page):
        if language == "python":
            if other:
                text = text.replace(other["old"], other["new"])  # noqa: PLW2901
            # Lines keep their numbers, so that a traceback points into the page.
            code = compile("\n" * (line - 1) + text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(code, namespace)  # noqa: S102
            printed = output.getvalue()
        elif language == "text" and printed is not None:
            assert printed.rstrip() == text.rstrip(), f"{page.name}, line {line}"
            printed = None
        else:
            printed = None
