"""What the user asked: streams, windows and the condition that joins them. Knows no Spark and no plan."""

from watersmeet.query.duration import parse_duration
from watersmeet.query.join import JoinQuery
from watersmeet.query.stream import Column, Stream
from watersmeet.query.window import RowWindow, Unbounded
from watersmeet.query.window_kind import Window

__all__ = ["Column", "JoinQuery", "RowWindow", "Stream", "Unbounded", "Window", "parse_duration"]
