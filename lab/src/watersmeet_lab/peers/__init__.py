"""The same joins on several engines, over the same rows: ours, chains of Spark's joins, Flink, and DuckDB.

A query is said once, as plain data (`query.py`), and every system gets it in its own words. DuckDB has all
rows at once, keeps no state and writes no checkpoint: it is the limit of a machine, not a competitor.
"""
