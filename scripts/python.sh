#!/bin/sh
# Prints a Python that can run Watersmeet: $PYTHON if set, else the first suitable one on PATH.
set -eu

if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
else
    set -- python3 python3.13 python3.12 python3.11
fi

for candidate in "$@"; do
    # Run it, do not just look for it: version managers leave names on PATH that only fail.
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        echo "$candidate"
        exit 0
    fi
done

echo "Watersmeet needs Python 3.11, 3.12 or 3.13. Tried: $*." >&2
echo "Install one of these versions, or name it: make PYTHON=/path/to/python3.12" >&2
exit 1
