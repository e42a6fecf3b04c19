"""Every example in the lab's docstrings runs and prints what it says, as in the product's `test_docs`."""

import doctest
import importlib
import pkgutil

import pytest

import watersmeet_lab

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(watersmeet_lab.__path__, "watersmeet_lab.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_say(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0
