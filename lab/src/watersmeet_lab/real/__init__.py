"""Real data in full: five joins over three public data sets, row for row against DuckDB.

The tests join extracts. Whole data sets have what extracts lose: hundreds of thousands of rows, bursts of
one key, many rows at one instant, windows that fill and empty over months. The data is too large to be part
of the project, so who runs this says where it is.
"""
