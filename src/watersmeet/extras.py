"""Packages that only some commands need, and what to install where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from watersmeet.errors import WatersmeetError

# The extra of this distribution that brings a package, and what the package does.
_EXTRAS = {
    "matplotlib": ("plot", "it draws the plots"),
    "simpy": ("sim", "the simulator runs on it"),
}


class MissingPackage(WatersmeetError, RuntimeError):
    """A package that a command needs is not installed."""


def require_package(name: str) -> None:
    """Refuse to start what could not be done in the end.

    >>> require_package("matplotlib")
    """
    extra, does = _EXTRAS[name]
    if find_spec(name) is None:
        raise MissingPackage(
            f"the package {name} is not installed", f"{does}.", f'pip install "watersmeet[{extra}]"'
        )
