"""Choosing how a query runs: one file per choice, plain functions.

`choose` plans every query, and `sites` the joins between sites. `papers` has planners as papers wrote them,
for the simulator and the lab only: none of them runs for a user's query.

Nothing is imported here: workers need one file of it, and start sooner without the rest.
"""
