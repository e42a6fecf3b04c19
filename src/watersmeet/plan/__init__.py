"""The answer to a query as plain data: chosen by `optimize`, rendered by `explain`, run by a host."""

from watersmeet.plan.plan import Operator, Plan, ProbePath, Source

__all__ = ["Operator", "Plan", "ProbePath", "Source"]
