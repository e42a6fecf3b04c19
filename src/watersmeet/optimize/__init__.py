"""Choosing how a query runs: one file per choice, plain functions, all of them listed in `registry`.

Nothing is imported here: workers need one file of it, and start sooner without the rest.
"""
