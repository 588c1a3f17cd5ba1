"""A progress bar for terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._api import Progress

WIDTH = 30


@contextmanager
def bar() -> Iterator[Progress]:
    """Shows a bar on standard error, which notebooks show below the cell."""
    shown = ""

    def show(finished: int, runs: int) -> None:
        nonlocal shown
        full = WIDTH * finished // max(runs, 1)
        text = f"\r{'█' * full}{'░' * (WIDTH - full)} {finished} of {runs} runs"
        if text != shown:
            shown = text
            print(text, end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if shown:
            print(file=sys.stderr)
