"""Scored problems."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ._goodqueue import Error, Interval, Scorer

Policy = Callable[[Interval], float] | bytes | str | os.PathLike[str]
"""A function, the bytes of a WebAssembly module, its path (`.wasm` or `.wat`), or a tc line."""


class Panel(NamedTuple):
    """The means over a panel of lines; times in seconds. `lines` has a dict for each line."""

    reward: float
    utilization: float
    sojourn: float
    ping: float
    lines: list[dict[str, Any]]


class Score(NamedTuple):
    """A score and its parts. `float(score)` is the mean reward on the held-out lines."""

    problem: str
    policy: str
    score: float
    seed: int
    training: Panel
    held_out: Panel
    json: str

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        return table([self])


class Problem:
    """A problem with training lines, which never change, and held-out lines, which judge.

    >>> import goodqueue as gq
    >>> problem = gq.Problem("aqm-v1")
    >>> problem.train(lambda seen: 0.05 if seen.sojourn > 0.015 else 0.0).reward > 0.3
    True

    In `aqm-v1` a policy sees an `Interval` every 15 ms and returns the probability of a mark or drop
    for the next 15 ms. If it has a method `reset`, that is called before each line.
    """

    def __init__(self, name: str = "aqm-v1") -> None:
        self._scorer = Scorer(name)
        self.name = name

    def train(self, policy: Policy, *, jobs: int = 0) -> Panel:
        """Judges a policy on the training lines alone: what a search may look at."""
        return Panel(**json.loads(self._scorer.train(_given(policy), jobs)))

    def score(self, policy: Policy, *, seed: int = 1, name: str | None = None, jobs: int = 0) -> Score:
        """Scores a policy on the training lines and on the held-out lines of `seed`.

        The score has the same bits on every machine, if the policy has. Disciplines and modules run in
        `jobs` threads (0: one for each processor), functions in the calling thread.
        """
        shown = _name(policy) if name is None else name
        text = self._scorer.score(shown, _given(policy), seed, jobs)
        parts = json.loads(text)
        parts.update(training=Panel(**parts["training"]), held_out=Panel(**parts["held_out"]))
        return Score(json=text, **parts)

    def table(self, *policies: Policy, seed: int = 1) -> str:
        """Returns a table of these policies and of tail drop, CoDel, PIE and FQ-CoDel, best first."""
        scores = [self.score(policy, seed=seed) for policy in (*policies, *Scorer.TABLE)]
        return table(sorted(scores, key=float, reverse=True))

    def seeds(self, split: str, seed: int = 1) -> list[int]:
        """Returns the seeds of the lines, which `goodqueue/AQM-v0` draws likewise."""
        return self._scorer.seeds(split, seed)


def table(scores: list[Score]) -> str:
    """Returns a table with a row for each score."""
    rows = [("policy", "score", "training", "utilization", "sojourn", "ping")]
    for one in scores:
        held = one.held_out
        numbers = (f"{one.score:.3f}", f"{one.training.reward:.3f}", f"{held.utilization:.3f}")
        times = (f"{1e3 * held.sojourn:.1f} ms", f"{1e3 * held.ping:.1f} ms")
        rows.append((one.policy, *numbers, *times))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _given(policy: Policy) -> Any:
    """Returns what the compiled half takes: a line, bytes, or a function."""
    if isinstance(policy, str) and not policy.endswith((".wasm", ".wat")):
        return policy
    if isinstance(policy, str | os.PathLike):
        path = Path(policy)
        try:
            return path.read_bytes()
        except OSError as failed:
            raise Error(f"`{path}` cannot be read: {failed.strerror}\n  help: name a .wasm or .wat file") from failed
    return policy


def _name(policy: Policy) -> str:
    if isinstance(policy, str):
        return policy
    if isinstance(policy, bytes):
        return "module"
    if isinstance(policy, os.PathLike):
        return Path(policy).name
    return str(getattr(policy, "__name__", type(policy).__name__))
