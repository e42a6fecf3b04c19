"""A join and the plan that computes it, as users hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.cost.forecast import forecast
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.planning import Planning
from watersmeet.plan import Plan
from watersmeet.plan.explain import explain
from watersmeet.query import JoinQuery
from watersmeet.stats import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Query:
    """A join and the plan that computes it.

    Attributes:
        query: What is computed.
        plan: How.
        planning: What the plan was chosen by.
    """

    query: JoinQuery
    plan: Plan
    planning: Planning = field(default_factory=Planning)

    @classmethod
    def of(cls, query: JoinQuery, buckets: int | None, planning: Planning) -> Query:
        """Plan a query."""
        return cls(query, choose_plan(query, buckets=buckets, planning=planning), planning)

    def plan_with(
        self,
        *,
        statistics: Statistics | None = None,
        optimizer: str | None = None,
        cost_model: str | None = None,
        budget: int | None = None,
        adaptive: bool | None = None,
    ) -> Query:
        """The same query planned in another way; what is left out stays as it is.

        Args:
            statistics: What is known about the data, from `wm.statistics`.
            optimizer: Who chooses the order in which windows are visited: ``"auto"``, the exact search within
                its budget and then the best heuristic, or one of them by name.
            cost_model: What orders are compared by, ``"probes"`` or ``"comparisons"``.
            budget: How many steps an exact search may look at.
            adaptive: Whether buckets change their order while they run.

        Example:
            >>> query = wm.join(orders, payments, on="order_id")
            >>> fixed = query.plan_with(optimizer="as_written", adaptive=False)
            >>> fixed.plan.adaptive
            False
        """
        wishes = {
            "statistics": statistics,
            "optimizer": optimizer,
            "cost_model": cost_model,
            "budget": budget,
            "adaptive": adaptive,
        }
        given: dict[str, Any] = {name: value for name, value in wishes.items() if value is not None}
        return Query.of(self.query, self.plan.buckets, replace(self.planning, **given))

    def analyze(self, source: Mapping[str, DataFrame] | Any = None) -> Query:
        """The same query planned by statistics measured from data.

        Args:
            source: Samples of the streams as plain DataFrames by name, all rows of the same time; or a
                streaming query that runs this join. None takes the streams themselves if they are plain.

        Example:
            >>> query = wm.join(orders, payments, on="order_id").analyze()
            >>> query.planning.statistics.of("orders").distinct_of("orders.order_id").value
            1.0
        """
        if source is None or isinstance(source, Mapping):
            from watersmeet.spark.analyze import analyzed

            found = analyzed(self.plan, source)
        else:
            from watersmeet.spark.observe import observed_statistics

            found = observed_statistics(self.plan, source)
        return self.plan_with(statistics=found.over(self.planning.statistics))

    def explain(self, *, verbose: bool = False, form: str = "text", analyze: Any = None) -> str:
        """The plan: what is joined, what arriving rows visit, what is stored, and what to expect.

        Args:
            verbose: Also what else was considered, with its cost.
            form: ``"text"``, ``"json"``, or ``"mermaid"`` for a picture.
            analyze: A streaming query that runs this join, or has run it: what it was seen to do is put
                beside what was expected.

        Example:
            >>> known = wm.statistics({"orders": {"rate": 10}, "payments": {"rate": 10}})
            >>> query = wm.join(orders, payments, on="order_id", statistics=known)
            >>> print(query.explain().splitlines()[-1])
              not known: the distinct values of orders.order_id, the distinct values of payments.order_id
        """
        expected = None
        if not self.planning.statistics.is_empty:
            expected = forecast(self.plan, self.planning.statistics, self.planning.cost_model)
        seen = None
        if analyze is not None:
            from watersmeet.spark.observe import measured

            seen = measured(self.plan, analyze)
        return explain(self.plan, expected, seen, verbose=verbose, form=form)

    def to_dataframe(self) -> DataFrame:
        """The results as a DataFrame: streaming if the inputs are, plain if they are plain.

        The streaming DataFrame takes any sink, trigger and following operator in append mode;
        ``result_time``, the moment the last row of a result came alive, is its event-time column.
        """
        from watersmeet.spark.dataframe import join_dataframe

        return join_dataframe(self.plan)
