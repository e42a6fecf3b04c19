"""How many records of Kafka were gone before a query could read them.

A batch says from which offset to which it read every partition, and how many rows that were. With
``fail_on_data_loss=False`` what is missing had expired, or was deleted.
"""

from __future__ import annotations

import json
from typing import Any

_KAFKA = "KafkaV2["


def kafka_lost(progress: Any) -> dict[str, int]:
    """Records that were gone before a batch could read them, by the topics of each source that lost some.

    Offsets that never had a record count too: markers of transactions, and what compaction has removed. Where
    ``foreachBatch`` uses a batch twice it must be cached: Spark counts what it reads.

    Args:
        progress: A `StreamingQueryProgress`, as in ``query.lastProgress`` or a listener's event. None, which
            is that of a query before its first batch, has lost nothing.

    Example:
        lost = sum(sum(wm.kafka_lost(progress).values()) for progress in query.recentProgress)
    """
    found: dict[str, int] = {}
    for source in () if progress is None else progress.sources:
        if str(source.description).startswith(_KAFKA):
            start, end = _offsets(source.startOffset), _offsets(source.endOffset)
            lost = _asked(start, end) - source.numInputRows
            # Only a query that goes on knows where it should: the first batch has no start.
            if start and lost > 0:
                topics = ", ".join(sorted({topic for topic, _ in end}))
                found[topics] = found.get(topics, 0) + lost
    return found


def _asked(start: dict[tuple[str, str], int], end: dict[tuple[str, str], int]) -> int:
    """How many offsets a batch spans; a partition that is new begins at 0."""
    return sum(max(0, until - start.get(partition, 0)) for partition, until in end.items())


def _offsets(said: Any) -> dict[tuple[str, str], int]:
    """By topic and partition; Spark gives them as JSON, or as what that says."""
    by_topic = json.loads(said) if isinstance(said, str) else said
    if not isinstance(by_topic, dict):
        return {}
    return {(topic, part): at for topic, parts in by_topic.items() for part, at in parts.items()}
