"""`python -m goodqueue` is the command `goodqueue`."""

import sys

from ._command import main

sys.exit(main())
