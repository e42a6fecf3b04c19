"""Mail between sites: written whole or not at all, numbered, and read once.

A sender numbers its mail to each receiver without gaps. What it writes again after a failure is the same
mail under the same number, so it is written once. A reader takes mail in the order of the numbers and
removes what it is done with. Beside mail a mailbox has notes: what sites report, and what belongs together.

Another transport is a file with the methods of `Mailbox`, and a line in `open_mailbox`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from watersmeet.errors import DamagedMessage, InvalidQuery
from watersmeet.kernel.blob import blob_checksum

_MAGIC = b"WMAIL\x00\x00\x01"
HEADER = struct.Struct("<8sqI")
# Who ends streams by request of the user.
CONTROL_SENDER = "@control"


@dataclass(frozen=True, slots=True)
class Address:
    """What a mail says of itself.

    Attributes:
        deployment: Which query and plan it belongs to.
        sender: The site it comes from.
        receiver: The site it goes to.
        number: Its number on this way, from 0.
    """

    deployment: str
    sender: str
    receiver: str
    number: int


class Mailbox(Protocol):
    """Carries mail between sites, and keeps notes about them.

    Attributes:
        address: By what others open the same mailbox.
    """

    @property
    def address(self) -> str:
        """By what others open the same mailbox."""

    def post(self, address: Address, body: bytes) -> int:
        """Send mail, once however often it is posted; returns its bytes."""

    def senders(self, receiver: str) -> list[str]:
        """Who has sent mail that is still there."""

    def waiting(self, receiver: str, sender: str, after: int, deployment: str) -> int:
        """The last number up to which all mail after a number is there."""

    def read(self, receiver: str, sender: str, number: int) -> bytes:
        """The body of a mail."""

    def discard(self, receiver: str, sender: str, until: int) -> None:
        """Remove mail up to a number."""

    def refused(self) -> list[str]:
        """Mail of other deployments that was set aside, by name."""

    def note(self, site: str, name: str) -> str | None:
        """What was noted about a site; None if nothing was."""

    def keep_note(self, site: str, name: str, text: str, *, durable: bool = False) -> None:
        """Note something about a site, in place of what was noted under that name before.

        With `durable` it survives a power loss.
        """


def open_mailbox(address: str | Path) -> Mailbox:
    """The mailbox of an address: a folder, or with ``://`` in it another transport.

    Raises:
        InvalidQuery: There is no such transport, or it cannot be a mailbox.
    """
    from watersmeet.spark.mail.folder import FolderMailbox

    transports = {"file": FolderMailbox}
    scheme, there, rest = str(address).partition("://")
    if not there:
        return FolderMailbox(str(address))
    if scheme not in transports:
        raise InvalidQuery(
            f'there is no transport "{scheme}" for mail',
            f"the mailbox is {address}.",
            "give a folder that is mounted at all sites, with or without file:// before it.",
        )
    return transports[scheme](rest)


def seal(address: Address, body: bytes) -> bytes:
    """A mail as it is written."""
    said = json.dumps([address.deployment, address.sender, address.receiver, address.number]).encode()
    content = said + body
    return HEADER.pack(_MAGIC, blob_checksum(content), len(said)) + content


def unseal(mail: bytes, name: str) -> tuple[Address, bytes]:
    """What a mail says, and its body.

    Raises:
        DamagedMessage: It is not as it was written.
    """
    if len(mail) < HEADER.size:
        raise damaged(name, f"it has {len(mail)} bytes")
    magic, checksum, size = HEADER.unpack_from(mail)
    content = mail[HEADER.size :]
    if magic != _MAGIC:
        raise damaged(name, f"it starts with {magic!r}")
    if blob_checksum(content) != checksum:
        raise damaged(name, "its checksum is wrong")
    try:
        return Address(*json.loads(content[:size])), content[size:]
    except (TypeError, ValueError):
        raise damaged(name, "it does not say where it belongs") from None


def damaged(name: str, why: str) -> DamagedMessage:
    """What is raised for a mail that is not as it was written."""
    return DamagedMessage(
        f"the mail {name} is damaged",
        f"{why}. Nothing after it was read, and nothing is lost.",
        "restore the file from a copy and start again; without one, start anew with an empty mailbox.",
    )
