"""Choosing how a query runs: one file per choice, plain functions."""

from watersmeet.optimize.choose import choose_plan

__all__ = ["choose_plan"]
