"""The command `goodqueue`."""

from __future__ import annotations

import sys

from ._goodqueue import main as _main


def main() -> int:
    """Runs the command with the arguments of this process."""
    return _main(sys.argv)
