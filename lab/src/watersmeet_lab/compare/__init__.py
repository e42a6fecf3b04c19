"""Two commits compared: processor seconds per row of short keyed joins, run by turns.

Seconds on the clock depend on who else uses the machine; processor seconds of the whole tree of processes,
Java and Python workers together, do so much less. Runs of the two commits take turns, so that a machine that
becomes slower does so for both.
"""
