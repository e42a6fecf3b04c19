"""The one host of all kinds of join: what lies between Spark and a bucket (`kernel.bucket`).

    source -> pack -> group by label -> processor -> bucket -> output -> results, messages, metrics

task.py         what the workers are told
pack.py         rows of a source become a few binary rows per bucket; blobs.py is how these are written
operator.py     the DataFrame that runs it
processor.py    a batch of a bucket; arrivals.py is what came for it, ledger.py the books of the whole join
state.py        what is kept between batches; local_runs.py has runs at hand
plain.py        the same without state, for plain DataFrames
output.py       what leaves: rows for the user, rows for the next operator, mail
control.py      ticks and end markers as a source of Spark; mail_source.py mail
metrics.py      what is measured, and how users read it; report.py adds it up in Spark
"""
