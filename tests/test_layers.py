"""Imports point one way, and Spark is imported in one place.

Would catch: a layer that reaches up, a kernel that cannot run without Spark, an import of our own package
that drags in more than it says.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import watersmeet
from harness.programs import environment

PACKAGE = Path(watersmeet.__file__).parent

# What each layer may import of ours, beside itself and `errors`, which belongs to all.
BELOW = {
    "query": set(),
    "stats": {"query"},
    "plan": {"query", "stats"},
    "cost": {"query", "stats", "plan"},
    "optimize": {"query", "stats", "plan", "cost"},
    "kernel": {"query", "stats", "plan"},
    "sim": {"query", "stats", "plan", "cost", "optimize", "kernel"},
    "spark": {"query", "stats", "plan", "cost", "optimize", "kernel", "java"},
}
# How a person reaches it: these may import everything.
ON_TOP = {"plot", "demo", "jobs", "terminal", "cli", "__main__"}
# Files beside the layers: what of the layers they may import.
BESIDE = {"errors": set(), "extras": set(), "java": set(), "__init__": {"query", "spark", "stats"}}
USES_SPARK = {"spark"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module a file names in an import, wherever in the file it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_layer_imports_only_what_lies_below(path: Path) -> None:
    layer = layer_of(path)
    if layer in ON_TOP:
        return
    allowed = BELOW[layer] | {layer, "errors"} if layer in BELOW else BESIDE[layer] | {"errors"}
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("watersmeet.")}
    assert ours <= allowed, f"{layer} may import {sorted(allowed)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_spark_layer_imports_spark(path: Path) -> None:
    if layer_of(path) not in USES_SPARK:
        assert not {name for name in imported(path) if name.split(".")[0] in {"pyspark", "py4j"}}


@pytest.mark.parametrize(
    "module",
    ["watersmeet.query", "watersmeet.plan", "watersmeet.optimize", "watersmeet.kernel.join", "watersmeet"],
)
def test_importing_does_not_load_spark(module: str) -> None:
    """Neither do the layers below Spark, nor the package itself until it is used."""
    program = f"import sys, {module}; print(sorted(m for m in sys.modules if m.startswith('pyspark')))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_product_does_not_import_the_lab(path: Path) -> None:
    """The lab is a distribution of its own, which a user does not have."""
    assert not {name for name in imported(path) if name.split(".")[0] == "watersmeet_lab"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_papers_planners_are_for_the_simulator(path: Path) -> None:
    """No planner in `optimize.papers` runs for a user's query."""
    if layer_of(path) != "sim" and "papers" not in path.parts:
        assert not {name for name in imported(path) if name.startswith("watersmeet.optimize.papers")}
