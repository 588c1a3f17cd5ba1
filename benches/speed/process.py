"""Runs programs and measures their time."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple


class Spent(NamedTuple):
    """What a program needed, in seconds, and what it printed."""

    wall: float
    cpu: float
    output: str


class Failed(Exception):
    """A program that ended with an error."""


def run(
    command: Sequence[str | os.PathLike[str]], *, folder: str | None = None, fine: Sequence[int] = (0,)
) -> Spent:
    """Runs a program and returns what it and its children spent. Exit codes that are not `fine` are failures."""
    begun = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in fine:
        raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Spent(wall, cpu, done.stdout)
