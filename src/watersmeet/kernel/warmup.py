"""Compile every kernel once and leave it in the cache: ``python -m watersmeet.kernel.warmup``.

Loops are compiled when their module is first imported and kept on disk, so importing them is all there
is to do. Run it after an installation; otherwise the first query pays for it.
"""

from __future__ import annotations

import importlib

_COMPILED = (
    "hashing",
    "keys",
    "sorting",
    "run",
    "value_index",
    "gather",
    "probe",
    "counting",
    "join",
    "digest",
    "result_ids",
    "simple_values",
    "simple_json",
    "simple_csv",
)


def warm_up() -> None:
    """Import every module with compiled loops."""
    for name in _COMPILED:
        importlib.import_module(f"watersmeet.kernel.{name}")


if __name__ == "__main__":
    warm_up()
