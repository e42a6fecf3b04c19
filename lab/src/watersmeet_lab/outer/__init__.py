"""The benchmark of outer joins: one required stream, half of its rows without partners, three optional ones.

The inner join of the same rows is beside it, and Spark's chain of left outer joins. That chain compares every
stream with the first alone, since the others may be missing, so it also returns combinations whose rows are
never alive together; and it may lose rows. What is right is said by DuckDB.
"""
