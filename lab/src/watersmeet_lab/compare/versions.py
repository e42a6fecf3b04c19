"""The versions that are compared: a commit in a temporary work tree of git, or the files as they are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Version:
    """A version of the product.

    Attributes:
        name: How it is called in the table.
        source: The folder that has its package.
    """

    name: str
    source: Path


class NoSuchVersion(Exception):
    """There is no such commit, or no repository."""


def working_tree(repository: Path) -> Version:
    """The files as they are, whatever is committed."""
    return Version("working tree", repository / "src")


def repository_of(place: Path) -> Path:
    """The repository a file or folder belongs to."""
    return Path(_git(place, "rev-parse", "--show-toplevel"))


@contextmanager
def checked_out(repository: Path, commit: str, scratch: Path) -> Iterator[Version]:
    """A commit, checked out next to the repository for as long as it is needed.

    Args:
        repository: Where the commit is.
        commit: Its hash, or any other name git knows.
        scratch: A folder for the files.
    """
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    folder = scratch / found
    _git(repository, "worktree", "add", "--detach", str(folder), found)
    try:
        yield Version(f"{commit} ({found[:10]})", folder / "src")
    finally:
        # By force: runs have left compiled code in it.
        _git(repository, "worktree", "remove", "--force", str(folder))


def _git(place: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(place), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoSuchVersion(done.stderr.strip() or f"git knows nothing about {arguments[-1]}")
    return done.stdout.strip()
