"""A checkpoint and a mailbox that belong together.

Mail is numbered, and how far a site is stands in its checkpoint. With a new checkpoint and an old mailbox
it would read mail of an earlier life, with a new mailbox and an old checkpoint it would wait for mail that
is gone. So both are marked with the same word when a site first starts, and later starts compare.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

from watersmeet.errors import CheckpointMismatch
from watersmeet.spark.private import make_folders, put_file

_MARK = "watersmeet-mailbox"


def pair(checkpoint: str, mailbox: str, sites: Iterable[str]) -> None:
    """Mark a checkpoint and a mailbox, or make sure that they belong together.

    A checkpoint that is not a folder here, such as one on an object store, cannot be marked and is not
    compared.
    """
    if "://" in checkpoint and not checkpoint.startswith("file://"):
        return
    own = Path(checkpoint.removeprefix("file://")) / _MARK
    marks = {site: Path(mailbox) / site / _MARK for site in sites}
    word = own.read_text() if own.exists() else None
    begun = any((own.parent / "commits").glob("[0-9]*"))
    for site, mark in marks.items():
        there = mark.read_text() if mark.exists() else None
        # Marked in part, and killed before anything was done: the rest is marked now.
        if there == word or (there is None and not begun):
            continue
        if word is None:
            raise CheckpointMismatch(
                f'site "{site}" was started before with another checkpoint',
                f"the mailbox {mailbox} holds mail of that life.",
                "start with the checkpoint it had, or all sites with empty checkpoints and an empty mailbox.",
            )
        raise CheckpointMismatch(
            f'the mailbox {mailbox} is not the one site "{site}" had',
            f"the checkpoint {checkpoint} belongs to another.",
            "start with the mailbox it had, or all sites with empty checkpoints and an empty mailbox.",
        )
    word = word or uuid.uuid4().hex
    # Its own mark first: with it, marks that are missing can be made later.
    if not own.exists():
        own.parent.mkdir(parents=True, exist_ok=True)
        put_file(own, word.encode())
    for site, mark in marks.items():
        if not mark.exists():
            make_folders(Path(mailbox), site)
            put_file(mark, word.encode())
