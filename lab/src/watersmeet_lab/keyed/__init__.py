"""The keyed benchmark: N streams joined on one shared key, against chained Spark joins and DuckDB.

Chained joins store every intermediate result, so many matches per row favour us and few favour them.
DuckDB sees the whole data at once, keeps no state and writes no checkpoint: it is the practical limit of a
batch engine on the same machine, not a competitor for streams.
"""
