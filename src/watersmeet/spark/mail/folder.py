"""A mailbox in a folder that all sites can reach, such as one that is mounted everywhere.

    <mailbox>/<receiver>/<sender>/000000000041.mail
    <mailbox>/<site>/<note>

Mail that counts as sent survives a power loss: file and folder are synced.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import uuid
from pathlib import Path

from watersmeet.errors import DamagedMessage, InvalidQuery, MailConflict
from watersmeet.kernel.sites.packet import same_packets
from watersmeet.spark.mail.mailbox import HEADER, Address, damaged, seal, unseal
from watersmeet.spark.private import make_folders, put_file, sync_folder

_SUFFIX, _REFUSED = ".mail", ".refused"
_SITE = re.compile(r"@?[\w-]+")


class FolderMailbox:
    """A folder that all sites can reach."""

    def __init__(self, folder: str) -> None:
        """The folder need not exist yet."""
        self._folder = Path(folder).absolute()
        if self._folder.exists() and not self._folder.is_dir():
            raise InvalidQuery("the mailbox is not a folder", f"{self._folder} is a file.", "name a folder.")

    @property
    def address(self) -> str:
        """By what others open the same mailbox."""
        return str(self._folder)

    def post(self, address: Address, body: bytes) -> int:
        """Send mail, once however often it is posted; returns its bytes."""
        mail = seal(address, body)
        place = make_folders(self._folder, address.receiver, address.sender)
        file = place / _name(address.number)
        if file.exists():
            self._refuse_other(file, mail, address)
            # Who wrote it may have been killed before this.
            sync_folder(place)
        else:
            put_file(file, mail)
        if address.number == 0:
            # The same of the folders, which are as old as the first mail.
            for folder in (place.parent, self._folder):
                sync_folder(folder)
        return len(mail)

    def _refuse_other(self, file: Path, mail: bytes, address: Address) -> None:
        there = file.read_bytes()
        if there == mail:
            return
        try:
            known, body = unseal(there, str(file))
            foreign = known.deployment != address.deployment
            if known == address and same_packets(body, unseal(mail, "this")[1]):
                return
        except DamagedMessage:
            foreign = True
        if foreign:
            _set_aside(file)
            self.post(address, unseal(mail, str(file))[1])
            return
        raise MailConflict(
            f"the mail {file} is already there, and different",
            f'site "{address.sender}" has sent other mail under this number.',
            "a site that starts without its checkpoint needs an empty mailbox, and so do all others.",
        )

    def senders(self, receiver: str) -> list[str]:
        """Who has sent mail that is still there."""
        place = self._folder / receiver
        if not place.is_dir():
            return []
        return sorted(one.name for one in place.iterdir() if one.is_dir() and _SITE.fullmatch(one.name))

    def waiting(self, receiver: str, sender: str, after: int, deployment: str) -> int:
        """The last number up to which all mail after a number is there; mail of others is set aside."""
        place = self._place(receiver, sender)
        number = after
        while (file := place / _name(number + 1)).exists():
            if self._foreign(file, deployment):
                _set_aside(file)
                break
            number += 1
        if number == after:
            self._refuse_gap(place, after + 1, deployment)
        return number

    def _refuse_gap(self, place: Path, expected: int, deployment: str) -> None:
        """Mail is written in order, so where later mail is there, earlier mail was lost."""
        later = [file for file in _mail(place) if int(file.stem) > expected]
        first = min(later, default=None)
        missing = place / _name(expected)
        if first is not None and not missing.exists() and not self._foreign(first, deployment):
            raise DamagedMessage(
                f"the mail {missing} is gone",
                f"{first.name} is there, and mail is written in order.",
                "restore it from a copy and start again; without one, start anew with an empty mailbox.",
            )

    def _foreign(self, file: Path, deployment: str) -> bool:
        """Whether mail belongs to another deployment; what cannot be read is found out by its reader."""
        with file.open("rb") as start:
            head = start.read(HEADER.size + 4096)
        try:
            _, _, size = HEADER.unpack_from(head)
            said = json.loads(head[HEADER.size : HEADER.size + size])
        except (struct.error, ValueError):
            return False
        return isinstance(said, list) and bool(said) and said[0] != deployment

    def read(self, receiver: str, sender: str, number: int) -> bytes:
        """The body of a mail."""
        file = self._place(receiver, sender) / _name(number)
        try:
            mail = file.read_bytes()
        except FileNotFoundError:
            raise DamagedMessage(
                f"the mail {file} is gone",
                "it was there when the batch was planned.",
                "restore it from a copy and start again.",
            ) from None
        address, body = unseal(mail, str(file))
        if (address.receiver, address.sender, address.number) != (receiver, sender, number):
            raise damaged(str(file), f"it is number {address.number} from {address.sender}")
        return body

    def discard(self, receiver: str, sender: str, until: int) -> None:
        """Remove mail up to a number."""
        place = self._place(receiver, sender)
        if not place.is_dir():
            return
        for file in _mail(place):
            if int(file.stem) <= until:
                file.unlink(missing_ok=True)

    def refused(self) -> list[str]:
        """Mail of other deployments that was set aside, by name."""
        return sorted(str(file.relative_to(self._folder)) for file in self._folder.glob(f"*/*/*{_REFUSED}"))

    def note(self, site: str, name: str) -> str | None:
        """What was noted about a site; None if nothing was."""
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / site / name).read_text()
        return None

    def keep_note(self, site: str, name: str, text: str, *, durable: bool = False) -> None:
        """Note something about a site, in place of what was noted under that name before."""
        put_file(make_folders(self._folder, site) / name, text.encode(), durable=durable)

    def _place(self, receiver: str, sender: str) -> Path:
        # Names may come from a checkpoint, and must not lead elsewhere.
        for name in (receiver, sender):
            if not _SITE.fullmatch(name):
                raise DamagedMessage(
                    "mail is asked for that no site can send",
                    f"{name!r} is not the name of a site.",
                    "restore the checkpoint from a copy.",
                )
        return self._folder / receiver / sender


def _mail(place: Path) -> list[Path]:
    return [file for file in place.glob(f"*{_SUFFIX}") if file.stem.isdigit()]


def _set_aside(file: Path) -> None:
    refused = file.with_suffix(_REFUSED)
    file.rename(refused.with_stem(f"{file.stem}-{uuid.uuid4().hex[:8]}") if refused.exists() else refused)


def _name(number: int) -> str:
    return f"{number:012d}{_SUFFIX}"
