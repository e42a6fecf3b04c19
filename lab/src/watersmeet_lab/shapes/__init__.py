"""Ordinary shapes of joins, each against a chain of Spark's own joins in one run.

Two streams or six, long rows, few matches, small batches, JSON from Kafka: what users have, rather than what
suits us. Shapes and their sizes were written down before anything was made faster for them.
"""
