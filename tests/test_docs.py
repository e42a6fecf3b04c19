"""Every example in the README, the documentation and the docstrings runs and prints what it says.

Would catch: an example that was true once.
"""

import contextlib
import doctest
import importlib
import io
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import watersmeet
import watersmeet as wm
from harness.pages import DELTA_PAGE, KAFKA_PAGE, ROOT, blocks, run_page

PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if path.exists()]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in (KAFKA_PAGE, DELTA_PAGE)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_examples_of_a_page_print_what_stands_below_them(spark: SparkSession, page: Path) -> None:
    run_page(page, {"spark": spark, "__name__": "__main__"})


def test_there_are_examples_to_run() -> None:
    """The search above finds what it should: otherwise it would pass on an empty page."""
    languages = [language for page in PAGES for language, _, _ in blocks(page)]
    assert languages.count("python") >= 2
    assert languages.count("text") >= 2


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(watersmeet.__path__, "watersmeet.")
    if not module.name.endswith("__main__")
)


def tables(spark: SparkSession) -> dict[str, Any]:
    """The names that docstrings take for granted."""
    orders_df = spark.sql("SELECT 1L AS order_id, TIMESTAMP'2026-05-01 12:00:00' AS ts, 30D AS amount")
    payments_df = spark.sql("SELECT 1L AS order_id, TIMESTAMP'2026-05-01 12:04:00' AS ts, 'card' AS method")
    id_df = spark.sql("SELECT 1L AS id, TIMESTAMP'2026-05-01 12:00:00' AS ts")
    return {
        "wm": wm,
        "spark": spark,
        "orders_df": orders_df,
        "payments_df": payments_df,
        "a_df": id_df,
        "b_df": id_df,
        "orders": wm.stream("orders", orders_df, time="ts", window="10 minutes", lateness="30 seconds"),
        "payments": wm.stream("payments", payments_df, time="ts", window="1 hour"),
    }


@pytest.mark.parametrize("name", ["watersmeet", *MODULES])
def test_docstring_examples_print_what_they_say(spark: SparkSession, name: str) -> None:
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for test in finder.find(module, extraglobs=tables(spark)):
            runner.run(test)
    assert runner.failures == 0, output.getvalue()
