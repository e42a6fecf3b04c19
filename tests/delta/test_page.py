"""The page about Delta prints what it says."""

from pyspark.sql import SparkSession

from harness.pages import DELTA_PAGE, blocks, run_page


def test_the_page_about_delta(spark: SparkSession) -> None:
    assert [language for language, _, _ in blocks(DELTA_PAGE)].count("text") == 2
    run_page(DELTA_PAGE, {"spark": spark, "__name__": "__main__"})
