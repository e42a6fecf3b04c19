"""Experiments and comparisons: what we measure ourselves against, one folder per question."""
