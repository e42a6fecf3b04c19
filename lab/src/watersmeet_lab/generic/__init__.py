"""The generic benchmark: images joined by a function of about 50 microseconds, in slices and otherwise.

The function looks for the smallest difference of two images that may be shifted by two pixels either way.
Baselines are what one would write by hand, a cross join in `foreachBatch` over windows stored as files, and
aligned routing, the simplest way to spread a join without a key.
"""
