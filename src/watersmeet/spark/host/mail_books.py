"""What a bucket has read and sent by mail, so that every mail is read once and sent under one number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from watersmeet.errors import DamagedMessage
from watersmeet.kernel.bucket import Message
from watersmeet.kernel.stored import stored_as
from watersmeet.spark.mail.mailbox import Address, seal


@stored_as("link")
@dataclass
class LinkTotals:
    """What was sent to another bucket so far."""

    messages: int = 0
    rows: int = 0
    bytes: int = 0


@stored_as("mail books")
@dataclass
class MailBooks:
    """The mail of one bucket.

    Attributes:
        expected: Per sender the number of its next mail.
        sent: Per receiver what was sent so far.
        skipped: Mail that had come before.
    """

    expected: dict[str, int] = field(default_factory=dict)
    sent: dict[str, LinkTotals] = field(default_factory=dict)
    skipped: int = 0

    def unread(self, receiver: str, mail: dict[str, dict[int, bytes]]) -> Iterator[tuple[str, bytes]]:
        """The mail that was not read before, each sender's in its order; now it counts as read."""
        for sender in sorted(mail):
            for number in sorted(mail[sender]):
                expected = self.expected.get(sender, 0)
                if number < expected:
                    self.skipped += 1
                    continue
                if number > expected:
                    raise DamagedMessage(
                        f'mail {expected} from "{sender}" to "{receiver}" is missing',
                        f"mail {number} has come.",
                        "restore the mailbox, or start anew with an empty one.",
                    )
                self.expected[sender] = number + 1
                yield sender, mail[sender][number]

    def number(self, deployment: str, sender: str, message: Message) -> Address:
        """The address of a message that is sent now."""
        totals = self.sent.setdefault(message.receiver, LinkTotals())
        address = Address(deployment, sender, message.receiver, totals.messages)
        totals.messages += 1
        totals.rows += message.rows
        totals.bytes += len(seal(address, message.body))
        return address
