"""The page about Delta prints what it says."""

from pyspark.sql import SparkSession

from harness.pages import ROOT, blocks, run_page


def test_the_page_about_delta(spark: SparkSession) -> None:
    page = ROOT / "docs" / "delta.md"
    assert [language for language, _, _ in blocks(page)].count("text") == 2
    run_page(spark, page)
