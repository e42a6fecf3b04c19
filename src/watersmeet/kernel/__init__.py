"""Window stores and join algorithms on Arrow, NumPy and numba: no Spark, no clock, no I/O."""
