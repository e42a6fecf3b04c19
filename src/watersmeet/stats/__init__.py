"""What is known about the data, and how well."""

from watersmeet.stats.figure import ABSENT, Figure, Known
from watersmeet.stats.frequencies import Frequencies
from watersmeet.stats.statistics import NOTHING_KNOWN, Statistics, StreamStatistics

__all__ = ["ABSENT", "NOTHING_KNOWN", "Figure", "Frequencies", "Known", "Statistics", "StreamStatistics"]
