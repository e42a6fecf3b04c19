"""Which invoice does a transfer pay? Banks print names as they like, so a function compares them.

Run it with the Python that Watersmeet is installed in: python examples/names/match.py
"""

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import watersmeet as wm

HERE = Path(__file__).parent


def same_name(customer: str, payer: str) -> bool:
    """Whether two names are alike but for case, spelling and what a bank cuts off."""
    one, other = customer.casefold(), payer.casefold()
    shorter = min(len(one), len(other))
    return SequenceMatcher(None, one[: shorter + 1], other[: shorter + 1]).ratio() > 0.8


def matches(spark: Any) -> wm.Query:
    """Transfers of an invoice's amount within three days of it, less at most 2 % for the bank."""
    invoices = read(spark, "invoices", "number STRING, ts TIMESTAMP, customer STRING, amount DOUBLE")
    transfers = read(spark, "transfers", "ts TIMESTAMP, payer STRING, amount DOUBLE")
    return wm.join(
        wm.stream("invoices", invoices, time="ts"),
        wm.stream("transfers", transfers, time="ts"),
        on=[
            "transfers.ts BETWEEN invoices.ts AND invoices.ts + INTERVAL 72 HOURS",
            "transfers.amount BETWEEN invoices.amount * 0.98D AND invoices.amount",
            # Asked last, and only about pairs that fulfil the conditions above.
            wm.predicate(same_name, "invoices.customer", "transfers.payer", vectorized=False, cost="50 us"),
        ],
        select=["invoices.number", "invoices.customer", "transfers.payer", "transfers.amount"],
    )


def read(spark: Any, name: str, schema: str) -> Any:
    """The files of a folder as a stream, one file in each batch."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(HERE / name))


def main(spark: Any) -> None:
    """Run the join over everything there is, and show what came of it."""
    query = matches(spark)
    print(query.explain())
    running = query.to_dataframe().writeStream.format("memory").queryName("matches")
    running.trigger(availableNow=True).start().awaitTermination()
    spark.table("matches").orderBy("number", "result_time").show(100, truncate=False)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    main(wm.configure(builder).getOrCreate())
