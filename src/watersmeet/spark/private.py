"""Folders and files of ours: closed to other users, and written whole or not at all.

Rows, mail and end markers lie in folders that other users of a machine can see, such as the system's
temporary one. So what is made there is for us alone: folders 0700, files 0600. One exception is made on
purpose: what lies below a folder that its owner has opened to the group (a mailbox of 0770) is open to that
group as well. Nothing is ever made for everybody.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import uuid
from pathlib import Path

from watersmeet.errors import UnsafeFolder

# Some file systems cannot sync a folder, and a folder may be closed to those who may write to it.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES)


def own_name() -> str:
    """The name of our folder beside those of other users."""
    return f"watersmeet-{os.getuid()}"


def private_folder(folder: Path) -> Path:
    """Make a folder that nobody else can enter, or make sure that it is one.

    Raises:
        UnsafeFolder: Somebody else has made it, or can enter it.
        OSError: It cannot be made.
    """
    make_folders(folder, durable=False)
    wrong = _why_open(folder)
    if wrong:
        raise UnsafeFolder(
            f"the folder {folder} is not safe to use",
            f"{wrong}, so that others could read or change what lies in it.",
            "remove it, or set TMPDIR or spark.local.dir to a folder of your own.",
        )
    return folder


def is_private(folder: Path) -> bool:
    """Whether a folder is there and nobody else can enter it."""
    try:
        return not _why_open(folder)
    except OSError:
        return False


def believed(file: Path) -> bool:
    """Whether a file is there and can only be ours: our own, in a folder that nobody else can enter."""
    try:
        status = file.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and not _why_open(file.parent)


def _why_open(folder: Path) -> str:
    """Why others may enter a folder; empty if they may not."""
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a folder"
    if status.st_uid != os.getuid():
        return f"it belongs to user {status.st_uid}, and this is user {os.getuid()}"
    mode = stat.S_IMODE(status.st_mode)
    return f"its mode is {mode:04o} and should be 0700" if mode & 0o077 else ""


def make_folders(root: Path, *below: str, durable: bool = True) -> Path:
    """Make a folder, and folders in it, where they are missing; the last of them.

    What is there already keeps its mode. Below a root that is open to its group all is. With `durable` they
    are there after a power loss as well.
    """
    _make(root, 0o700, durable=durable)
    mode = 0o700 | _group_bits(root)
    for name in below:
        root = root / name
        _make(root, mode, durable=durable)
    return root


def put_file(file: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file: whoever looks for it finds all of it or nothing.

    With `durable` it is there after a power loss as well. Files that can be made again do without.
    """
    mode = 0o600 | _group_bits(file.parent) & 0o060
    draft = file.with_name(f".{uuid.uuid4().hex}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as out:
            if mode != 0o600:
                os.fchmod(descriptor, mode)
            out.write(content)
            if durable:
                out.flush()
                os.fsync(descriptor)
        draft.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    if durable:
        sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Names that were made or changed in a folder survive a power loss."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def _make(folder: Path, mode: int, *, durable: bool) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make(folder.parent, 0o700, durable=durable)
        _make(folder, mode, durable=durable)
        return
    if mode != 0o700:
        # Beyond what the process would give to new files; the group itself stays as it was inherited.
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | mode)
    if durable:
        sync_folder(folder.parent)


def _group_bits(folder: Path) -> int:
    mode = stat.S_IMODE(folder.stat().st_mode)
    return 0o070 if mode & stat.S_IWGRP else 0
