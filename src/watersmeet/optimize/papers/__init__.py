"""Planners as papers wrote them, for the simulator and the lab: none of them plans a user's query.

What the product shares with a paper lives with the product (`optimize.sites`, `optimize.slice_count`).
"""
