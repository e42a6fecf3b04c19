#!/bin/sh
# Usage: venv.sh FOLDER. Makes a virtual environment with pip in FOLDER, unless a sound one is there.
set -eu

venv=$1
here=$(dirname "$0")

# Sound: it runs, has pip, and is of a Python we support.
if PYTHON="$venv/bin/python" sh "$here/python.sh" >/dev/null 2>&1 &&
    "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

python=$(sh "$here/python.sh")
rm -rf "$venv"
echo "Making $venv with $("$python" --version) ($python)."
if "$python" -m venv "$venv" >/dev/null 2>&1; then
    exit 0
fi

# Debian and Ubuntu ship venv without ensurepip. virtualenv brings its own pip. It goes into a folder
# of its own: --target is allowed where the system's Python is marked as externally managed (PEP 668).
echo "$python -m venv does not work here; using virtualenv."
rm -rf "$venv"
tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
if ! "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
    --target "$tool" virtualenv; then
    echo "Could not make $venv: $python -m venv does not work, and pip could not fetch virtualenv." >&2
    echo "On Debian or Ubuntu: sudo apt-get install python3-venv" >&2
    exit 1
fi
PYTHONPATH="$tool" "$python" -m virtualenv --quiet "$venv"
