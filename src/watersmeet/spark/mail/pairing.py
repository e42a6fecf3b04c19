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
from watersmeet.spark.mail.mailbox import Mailbox
from watersmeet.spark.private import put_file

_MARK = "watersmeet-mailbox"


def pair(checkpoint: str, mailbox: Mailbox, sites: Iterable[str]) -> None:
    """Mark a checkpoint and a mailbox, or make sure that they belong together.

    A checkpoint that is not a folder here, such as one on an object store, cannot be marked and is not
    compared.
    """
    if "://" in checkpoint and not checkpoint.startswith("file://"):
        return
    own = Path(checkpoint.removeprefix("file://")) / _MARK
    marks = {site: mailbox.note(site, _MARK) for site in sites}
    word = own.read_text() if own.exists() else None
    begun = any((own.parent / "commits").glob("[0-9]*"))
    for site, there in marks.items():
        # Marked in part, and killed before anything was done: the rest is marked now.
        if there == word or (there is None and not begun):
            continue
        if word is None:
            raise CheckpointMismatch(
                f'site "{site}" was started before with another checkpoint',
                f"the mailbox {mailbox.address} holds mail written with that checkpoint.",
                "start with the checkpoint it had, or all sites with empty checkpoints and an empty mailbox.",
            )
        raise CheckpointMismatch(
            f'the mailbox {mailbox.address} is not the one site "{site}" had',
            f"the checkpoint {checkpoint} belongs to another.",
            "start with the mailbox it had, or all sites with empty checkpoints and an empty mailbox.",
        )
    word = word or uuid.uuid4().hex
    # Its own mark first: with it, marks that are missing can be made later.
    if not own.exists():
        own.parent.mkdir(parents=True, exist_ok=True)
        put_file(own, word.encode())
    for site, there in marks.items():
        if there is None:
            mailbox.keep_note(site, _MARK, word, durable=True)
