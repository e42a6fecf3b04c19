"""A join and the plan that computes it, as users hold it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.cost.forecast import forecast
from watersmeet.errors import InvalidPlanning, InvalidQuery, choices
from watersmeet.optimize.choose import choose_plan
from watersmeet.optimize.idle_settings import refuse_idle_settings
from watersmeet.optimize.planning import Planning
from watersmeet.optimize.progressive.planning import MemoryPlanning
from watersmeet.optimize.sites.choose import choose_site_plan, refuse_query_without_sites
from watersmeet.optimize.sites.planning import SitePlanning
from watersmeet.plan import Plan
from watersmeet.plan.explain import explain, explain_sites
from watersmeet.plan.sites.plan import SitePlan
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.duration import duration, seconds
from watersmeet.query.network import Network, refuse_unfit_network, sites_of
from watersmeet.spark.private import own_name
from watersmeet.stats import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from watersmeet.spark.sink import Sink
    from watersmeet.spark.sites.deployment import Deployment

Chosen = TypeVar("Chosen", Planning, SitePlanning, MemoryPlanning)


@dataclass(frozen=True)
class Query:
    """A join and the plan that computes it.

    Attributes:
        query: What is computed.
        plan: How.
        planning: What the plan was chosen by.
        network: What lies between the sites of its streams.
    """

    query: JoinQuery
    plan: Plan
    planning: Planning = field(default_factory=Planning)
    network: Network | None = None

    @classmethod
    def of(
        cls,
        query: JoinQuery,
        buckets: int | None,
        planning: Planning,
        network: Network | None = None,
    ) -> Query:
        """Plan a query."""
        refuse_unfit_network(query.streams, network)
        plan = choose_plan(query, buckets=buckets, planning=planning)
        return cls(query, plan, planning, network)

    @cached_property
    def site_plan(self) -> SitePlan:
        """How streams at different sites are joined between them; only for streams with sites."""
        return choose_site_plan(self.query, self.network, self.planning)

    @cached_property
    def control(self) -> Path:
        """The folder in which end markers are left for a running query."""
        return Path(tempfile.gettempdir()) / own_name() / uuid.uuid4().hex

    @property
    def wiring(self) -> Wiring:
        """What `deploy` runs."""
        if sites_of(self.query.streams):
            return self.site_plan.wiring
        if self.plan.deployed is None:
            raise InvalidQuery(
                "there is nothing to deploy",
                "its streams have no sites, and all rows meet by a key, or are counted per key.",
                'run it with to_dataframe(), or say where rows arrive: wm.stream(..., site="tokyo").',
            )
        return self.plan.deployed.wiring(self.query)

    def plan_with(
        self,
        *,
        statistics: Statistics | None = None,
        optimizer: str | None = None,
        cost_model: str | None = None,
        search_steps: int | None = None,
        adaptive: bool | None = None,
        routing: str | None = None,
        segment: str | timedelta | None = None,
        spread: int | None = None,
        spread_hot_keys: bool | None = None,
    ) -> Query:
        """The same query planned in another way; what is left out stays as it is.

        Args:
            statistics: What is known about the data, from `wm.statistics`.
            optimizer: Who chooses the order in which windows are visited: ``"auto"``, the exact search within
                `search_steps` and then the best heuristic, or one of them by name.
            cost_model: What orders are compared by, ``"probes"`` or ``"comparisons"``.
            search_steps: How many steps an exact search may look at.
            adaptive: Whether buckets change their order while they run.
            routing: How rows meet that share no key: ``"sliced"``, two streams at a time and nothing stored
                twice; ``"replicated"``, all at once, with all streams but one in every bucket; or
                ``"aligned"``, all at once, by segments of time.
            segment: How long such a segment is; for windows much shorter than it few rows are needed twice.
            spread: How many buckets share a window whose rows have no key, at most all of them. It may change
                whenever the query is started: rows stay where they are, and new ones go to these.
            spread_hot_keys: Whether rows of a key that has very many are spread over all buckets, so that all
                cores join them. It may change whenever the query is started.

        Example:
            >>> query = wm.join(orders, payments, on="order_id")
            >>> fixed = query.plan_with(optimizer="as_written", adaptive=False)
            >>> fixed.plan.adaptive
            False
        """
        length = None if segment is None else duration(segment, "segment", InvalidPlanning, "1 minute")
        planned = self._planned(
            _changed(
                self.planning,
                statistics=statistics,
                optimizer=optimizer,
                cost_model=cost_model,
                search_steps=search_steps,
                adaptive=adaptive,
                routing=routing,
                segment=length,
                spread=spread,
                spread_hot_keys=spread_hot_keys,
            )
        )
        routed = {"routing": routing, "segment": segment, "spread": spread}
        given = [name for name, value in routed.items() if value is not None]
        refuse_idle_settings(planned.plan.root, planned.planning, given)
        return planned

    def plan_sites(
        self,
        *,
        method: str | None = None,
        optimizer: str | None = None,
        partition: str | None = None,
        groups: int | None = None,
    ) -> Query:
        """The same query planned in another way between its sites; what is left out stays as it is.

        Args:
            method: How streams at different sites are joined: ``"auto"``, ``"one site"``, ``"placed"``,
                ``"sequences"`` or ``"tree"``.
            optimizer: Who searches the plan: ``"auto"``, ``"exhaustive"`` or ``"greedy"``.
            partition: How values are grouped that are joined at different sites: ``"auto"``, ``"hash"``,
                ``"range"``, ``"rate"`` or ``"none"``.
            groups: How many groups of values at most.
        """
        refuse_query_without_sites(self.query)
        sites = _changed(
            self.planning.sites, method=method, optimizer=optimizer, partition=partition, groups=groups
        )
        return self._planned(replace(self.planning, sites=sites))

    def plan_memory(
        self, *, algorithm: str | None = None, tick: str | float | timedelta | None = None
    ) -> Query:
        """The same query of streams without windows, kept to its memory in another way.

        Args:
            algorithm: Who decides which rows wait on disk: ``"rpj"``, ``"rpj-md"``, ``"rpj-dd"``,
                ``"xjoin"`` or ``"hmj"``.
            tick: How long streams must be silent until the join works on what is on disk.
        """
        if not self.plan.endless:
            raise InvalidPlanning(
                "the query has windows",
                "plan_memory is for joins without windows.",
                "leave plan_memory out, or give both streams window=wm.UNBOUNDED.",
            )
        tick_s = None if tick is None else seconds(tick, "tick", InvalidPlanning, "1 second")
        memory = _changed(self.planning.memory, algorithm=algorithm, tick_s=tick_s)
        return self._planned(replace(self.planning, memory=memory))

    def _planned(self, planning: Planning) -> Query:
        return Query.of(self.query, self.plan.buckets, planning, self.network)

    def analyze(self, source: Mapping[str, DataFrame] | Any = None) -> Query:
        """The same query planned by statistics measured from data.

        Args:
            source: Samples of the streams as plain DataFrames by name, all rows of the same time; or a
                streaming query or a deployment that runs this join. None takes the streams themselves if they
                are plain.

        Example:
            >>> query = wm.join(orders, payments, on="order_id").analyze()
            >>> query.planning.statistics.of("orders").distinct_of("orders.order_id").value
            1.0
        """
        if source is None or isinstance(source, Mapping):
            from watersmeet.spark.analyze import analyzed

            found = analyzed(self.plan, source)
        else:
            from watersmeet.spark.observe import deployed_statistics, observed_statistics

            found = (
                deployed_statistics(self.query, source)
                if _is_deployment(source)
                else observed_statistics(self.plan, source)
            )
        return self.plan_with(statistics=found.over(self.planning.statistics))

    def explain(self, *, verbose: bool = False, form: str = "text", analyze: Any = None) -> str:
        """The plan: what is joined, what arriving rows visit, what is stored, and what to expect.

        Of streams that arrive at sites it is the plan between these: where rows meet and how, and what is
        sent on every link.

        Args:
            verbose: Also what else was considered, with its cost.
            form: ``"text"``, ``"json"``, or ``"mermaid"`` for a picture.
            analyze: A streaming query or a deployment that runs this join, or has run it: what it was seen to
                do is put beside what was expected.

        Example:
            >>> known = wm.statistics({"orders": {"rate": 10}, "payments": {"rate": 10}})
            >>> query = wm.join(orders, payments, on="order_id", statistics=known)
            >>> print(query.explain().splitlines()[-1])
              not known: the distinct values of orders.order_id, the distinct values of payments.order_id
        """
        seen: Any = None
        deployed = _is_deployment(analyze)
        if analyze is not None:
            from watersmeet.spark.observe import measured, measured_deployment

            seen = measured_deployment(self.query, analyze) if deployed else measured(self.plan, analyze)
        if sites_of(self.query.streams) and (seen is None or deployed):
            return explain_sites(self.site_plan, seen, verbose=verbose, form=form)
        expected = None
        if not self.planning.statistics.is_empty:
            expected = forecast(self.plan, self.planning.statistics, self.planning.cost_model)
        return explain(self.plan, expected, seen, verbose=verbose, form=form)

    def to_dataframe(self, *, set_aside: bool = False, result_id: bool = False) -> DataFrame:
        """The results as a DataFrame: streaming if the inputs are, plain if they are plain.

        The streaming DataFrame takes any sink, trigger and following operator in append mode;
        ``result_time``, the moment the last row of a result came alive, is its event-time column.

        Args:
            set_aside: Whether rows that can never join come as well: late ones, those with a null key or a
                null time, and those dated too far ahead. They are rows of the same DataFrame in which all is
                null but one more column, ``set_aside``: a struct of stream, reason, time and content, the
                whole row as JSON. It is null for results.
            result_id: Whether results have one more column, ``result_id``: a text of 32 hexadecimal digits
                that is the same when a batch runs again, and different for different results of one
                checkpoint. With it a sink that may see a batch twice can drop what it has already.

        Example:
            >>> query = wm.join(orders, payments, on="order_id")
            >>> query.to_dataframe(set_aside=True).columns
            ['orders', 'payments', 'result_time', 'set_aside']
            >>> len(query.to_dataframe(result_id=True).first()["result_id"])
            32
        """
        from watersmeet.spark.dataframe import join_dataframe

        return join_dataframe(self.plan, self.control, set_aside=set_aside, result_id=result_id)

    def finish(self, running: Any, *streams: str, timeout: str | float | timedelta | None = None) -> None:
        """Say that streams have ended, and wait until all their results are found.

        Only streams without windows have to be ended by hand. What their sources have is read first, and
        rows that come afterwards are dropped and counted as late.

        Args:
            running: The streaming query that runs this join.
            streams: The streams that have ended; without any, all of them.
            timeout: How long to wait; None waits for as long as it takes.
        """
        from watersmeet.spark.progressive.finish import finish
        from watersmeet.spark.progressive.sources import source_counts

        unknown = [name for name in streams if name not in self.query.names]
        if not self.plan.endless:
            raise InvalidQuery(
                "its streams need not be ended",
                "windows let go of rows by themselves.",
                "leave finish out; it is for window=wm.UNBOUNDED.",
            )
        if unknown:
            raise InvalidQuery(
                f'there is no stream "{unknown[0]}"',
                f"the streams are {choices(self.query.names)}.",
                "name the streams that have ended, or none for all of them.",
            )
        if not hasattr(running, "recentProgress"):
            raise InvalidQuery(
                "this is not a streaming query",
                f"it is {type(running).__name__}.",
                "pass what start() has returned.",
            )
        numbers = [self.query.names.index(name) for name in streams or self.query.names]
        limit = None if timeout is None else seconds(timeout, "timeout", InvalidQuery, "5 minutes")
        finish(running, numbers, source_counts(self.query.streams), limit)

    def deploy(
        self,
        sink: Sink,
        *,
        mailbox: str | Path,
        checkpoint: str | Path,
        site: str | None = None,
        name: str | None = None,
        trigger: str | None = None,
    ) -> Deployment:
        """Start the join between the sites of its streams, or over slices of its windows.

        Streams with sites are joined as `explain` says. Without sites it is a join without a shared key:
        every row is stored in one slice, and whatever is found there goes on to the slices of the next
        window, in one round of messages per stream; nothing in between is stored.

        Args:
            sink: Where results go: a folder for Parquet files, or a function that takes a DataFrame of
                results and the number of the batch.
            mailbox: A folder that all sites, or all slices, can reach; messages travel through it.
            checkpoint: Where this application keeps its state.
            site: The site that runs in this application; None runs all of them here.
            name: What Spark calls the query.
            trigger: How often a batch starts, such as ``"1 second"``; None starts one after the other.
        """
        from watersmeet.spark.sites.deployment import deploy

        idle = [stream.name for stream in self.query.streams if stream.idle is not None]
        if idle:
            raise InvalidQuery(
                f'stream "{idle[0]}" of a deployed join cannot be idle',
                "sites promise each other how far their streams are, and wait for all of them.",
                "leave idle= out, or run it with to_dataframe().",
            )
        if self.query.memory is not None:
            raise InvalidQuery(
                "the memory of a deployed join cannot be limited",
                "its parts keep all their rows.",
                "leave memory= out, or run it with to_dataframe().",
            )
        return deploy(
            self.query,
            self.wiring,
            sink,
            mailbox=mailbox,
            checkpoint=checkpoint,
            site=site,
            name=name,
            trigger=trigger,
        )


def _changed(planning: Chosen, **given: Any) -> Chosen:
    """With what was given; None stands for what was left out."""
    return replace(planning, **{name: value for name, value in given.items() if value is not None})


def _is_deployment(running: Any) -> bool:
    """Whether it is what `deploy` has returned."""
    if running is None:
        return False
    from watersmeet.spark.sites.deployment import Deployment

    return isinstance(running, Deployment)
