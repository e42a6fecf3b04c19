"""What the driver tells the Python workers of a site: plain data, pickled with the query."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from watersmeet.plan.layout import Ref, result_columns
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.wiring import MJoinSpec, Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.function import Function
from watersmeet.spark.labels import label_of

# The state of a site is written in this form; changing it needs a new number.
_FORMAT = 1


@dataclass(frozen=True)
class SiteTask:
    """A join between sites as the workers see it.

    Attributes:
        query: What is joined, without its DataFrames.
        wiring: What runs where.
        schemas: Per stream the Arrow types of what it brings, by the names it has on its way.
        mailbox: The folder for mail.
    """

    query: JoinQuery
    wiring: Wiring
    schemas: tuple[pa.Schema, ...]
    mailbox: str

    @classmethod
    def of(cls, query: JoinQuery, wiring: Wiring, sources: list[StructType], mailbox: str) -> SiteTask:
        """The task, from the schemas of the prepared sources."""
        schemas = tuple(
            pa.schema(
                [
                    (named(ref), to_arrow_type(field.dataType, timezone="UTC"))
                    for ref, field in zip(source_refs(query, stream), schema.fields, strict=False)
                ]
            )
            for stream, schema in enumerate(sources)
        )
        bare = without_sources(query)
        parts = tuple(
            replace(part, plan=replace(part.plan, query=bare)) if isinstance(part, MJoinSpec) else part
            for part in wiring.parts
        )
        return cls(bare, replace(wiring, parts=parts), schemas, mailbox)

    @cached_property
    def deployment(self) -> str:
        """Short, and different for different queries, plans, types and formats."""
        said = [repr(self.query), repr(self.wiring), [str(schema) for schema in self.schemas], _FORMAT]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def label(self, site: str) -> int:
        """The group of a site."""
        return label_of(self.wiring.sites.index(site))

    def site(self, label: int) -> str:
        """The site of a group."""
        return next(site for site in self.wiring.sites if self.label(site) == label)

    def counted(self, stream: int) -> bool:
        """Whether the rows of a stream are counted, those that cannot join too."""
        return self.query.streams[stream].window.counts_rows

    @property
    def functions(self) -> tuple[Function, ...]:
        """The Python functions that are asked."""
        found = (condition.function for condition in self.query.conditions)
        return tuple(function for function in found if function is not None)

    @property
    def result_refs(self) -> tuple[Ref, ...]:
        """The columns of results."""
        return result_columns(self.query)


def without_sources(query: JoinQuery) -> JoinQuery:
    """The query as plain data."""
    return replace(query, streams=tuple(replace(stream, source=None) for stream in query.streams))
