"""`python -m watersmeet` is the command line."""

import sys

from watersmeet.cli import main

sys.exit(main())
