"""The folder of ours beside a checkpoint: where it is, and which join of its query a task belongs to.

Workers are not told where the checkpoint is. Whoever starts the query hears of it (`spark.listener`) and
leaves a note under the id of the query; without one, nothing lies beside the checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from watersmeet.spark.host.running import running_batch
from watersmeet.spark.host.task import Task
from watersmeet.spark.private import believed, private_folder, put_file

_FOLDER = "watersmeet"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Beside(NamedTuple):
    """Our folder beside a checkpoint, in a batch.

    Attributes:
        folder: Where it is; it may have to be made.
        batch: The number of the batch.
        join: Which of the joins of the query runs here; None if that cannot be told.
    """

    folder: Path
    batch: int
    join: int | None


def beside_checkpoint(task: Task) -> Beside | None:
    """The folder beside the checkpoint of the batch that runs now; None where nobody knows where that is."""
    running = running_batch()
    if task.notes is None or running is None:
        return None
    note = Path(task.notes) / Path(running.query).name
    try:
        said = json.loads(note.read_text()) if believed(note) else None
    except OSError:
        return None
    if not said:
        return None
    joins = said["joins"]
    # A join that is used twice has one number, and two states.
    join = joins.index(task.number) if joins.count(task.number) == 1 else None
    return Beside(Path(said["checkpoint"]) / _FOLDER, running.batch, join)


def leave_note(notes: Path, query: str, checkpoint: str, joins: Sequence[int]) -> None:
    """Say where the checkpoint of a query is; nothing, if that is not on a local disk.

    Args:
        notes: The folder for notes.
        query: The id of the query, which is that of its checkpoint. The next start writes another note.
        checkpoint: As Spark calls it, a path of Hadoop, in which nothing is escaped.
        joins: The numbers of the joins of the query, in the order of its plan, which starts have in common.
    """
    path = checkpoint.removeprefix("file:")
    local = path != checkpoint or not _SCHEME.match(checkpoint)
    place = "/" + path.lstrip("/") if path.startswith("/") else str(Path(path).absolute())
    said = {"checkpoint": place, "joins": list(joins)} if local else None
    put_file(private_folder(notes) / query, json.dumps(said).encode(), durable=False)
