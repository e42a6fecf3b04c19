"""Running the examples of a page of documentation."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Language, text and line of each fenced block."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start()) + 2


def run_page(spark: SparkSession, page: Path) -> None:
    """Python blocks run one after the other; a text block after one is what it prints."""
    namespace: dict[str, Any] = {"spark": spark, "__name__": "__main__"}
    printed: str | None = None
    for language, text, line in blocks(page):
        if language == "python":
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
