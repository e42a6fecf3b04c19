"""What the user asked: streams, windows and the condition that joins them. Knows no Spark and no plan."""

from watersmeet.query.duration import parse_duration
from watersmeet.query.join import JoinQuery
from watersmeet.query.stream import Column, Stream

__all__ = ["Column", "JoinQuery", "Stream", "parse_duration"]
