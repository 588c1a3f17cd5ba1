"""The sizes of shards, from the measured times of finished ones.

A shard that takes seconds costs little to send, keeps all threads of its worker busy, and loses little if
the worker dies. How long a run takes is not known before: it may be milliseconds or minutes, and differs
between the points of a sweep. So the first shards are small, and each further one follows the times so far.
"""

from __future__ import annotations

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Shards:
    """Divides runs into shards. A shard has whole rounds: in a round each thread of the worker makes a run."""

    def __init__(self, runs: Sequence[int], threads: int = 1, size: int | None = None) -> None:
        self._runs = runs
        self._begun = 0
        self._threads = max(1, threads)
        self._size = size
        self._rounds = 1.0
        self._seconds: float | None = None
        """Estimated time of a round."""

    def left(self) -> int:
        """Returns the number of runs that are in no shard yet."""
        return len(self._runs) - self._begun

    def next(self, workers: int) -> list[int]:
        """Returns the runs of the next shard. `workers`: the number of workers that share what is left."""
        shard = list(self._runs[self._begun : self._begun + (self._size or self._fitting(max(1, workers)))])
        self._begun += len(shard)
        return shard

    def _fitting(self, workers: int) -> int:
        # The last shards shrink, so that all workers end at about the same time.
        fair = -(-self.left() // (2 * workers))
        wanted = min(self._threads * int(self._rounds), fair, LARGEST)
        return max(1, wanted, min(self._threads, -(-self.left() // workers)))

    def learn(self, runs: int, seconds: float) -> None:
        """Adapts the size of further shards to the measured time of a finished one."""
        rounds = -(-runs // self._threads)
        measured = max(seconds, SHORTEST) / rounds
        # Neighbours in a sweep are alike, so the latest times count most.
        self._seconds = measured if self._seconds is None else (self._seconds + measured) / 2
        self._rounds = max(1.0, min(SECONDS / self._seconds, GROWTH * rounds))


SECONDS = 15.0
"""Time of a shard."""
SHORTEST = 1e-6
"""Shortest time that is believed."""
GROWTH = 4
"""Largest growth from one shard to the next: the next runs may take longer."""
LARGEST = 1000
"""Runs of a shard: their results travel in one message."""
