"""Runs in other processes and on other machines, in shards.

A shard is a list of runs. It goes to a worker as a `Task`, and comes back as an `Answer`. The engines
hide the differences between Dask, `concurrent.futures` and Ray.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from . import _goodqueue
from ._goodqueue import Error, Scenario, Sweep, program
from ._shards import Shards


class Task(NamedTuple):
    """A shard on its way to a worker."""

    scenario: Scenario
    series: str | None
    numbers: list[int]
    checksum: int
    """Checksum of everything that determines the runs, as the client sees it."""
    program: tuple[str, str]
    store: str | None
    jobs: int
    """Number of threads; 0: as many as the worker has."""


class Answer(NamedTuple):
    """The results of a shard."""

    numbers: list[int]
    results: bytes
    seconds: float
    """Time of the simulation on the worker."""


def simulate(task: Task) -> Answer:
    """Simulates a shard. Workers call this function."""
    if task.program != program():
        raise Error(_other_program(task.program, program(), _place()))
    sweep = _sweep(task)
    if sweep.checksum(task.numbers) != task.checksum:
        raise Error(
            f"on {_place()} the scenario is another one than on the client: a file that it names has other contents "
            "there\n  help: use folders that all machines share, or copy the file to the same path"
        )
    jobs = task.jobs or _threads()
    # Dask starts a task for each thread of the worker. One at a time has all of them.
    with _one_at_a_time:
        began = time.perf_counter()
        sweep.simulate(task.numbers, jobs)
        seconds = time.perf_counter() - began
    return Answer(task.numbers, sweep.hand_out(task.numbers), seconds)


def _other_program(expected: tuple[str, str], found: tuple[str, str], place: str) -> str:
    return (
        f"{place} has goodqueue {found[0]} (program {found[1]}), but the client has goodqueue {expected[0]} "
        f"(program {expected[1]})\n  allowed: the same wheel on all machines, because another one may give other "
        "results\n  help: install the client's wheel there, and restart the workers"
    )


_one_at_a_time = threading.Lock()


def _sweep(task: Task) -> Sweep:
    # A store that the machines share keeps each run at once, even if the client dies.
    store = task.store or ""
    shared = store if "://" in store or (store and (Path(store) / "runs" / "sweep.json").is_file()) else None
    if task.scenario.uses_python():
        return Sweep(task.scenario, task.series, shared, read=False)
    return _resolved(task.scenario.packed(), task.series, shared)


@lru_cache(maxsize=2)
def _resolved(packed: str, series: str | None, store: str | None) -> Sweep:
    """Resolves a scenario once for all its shards."""
    return Sweep(Scenario(packed), series, store, read=False)


def _threads() -> int:
    """Number of threads of this Dask worker, or one."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return 1


def _place() -> str:
    try:
        from distributed import get_worker

        return f"the worker {get_worker().address}"
    except (ImportError, ValueError):
        return f"the worker process {os.getpid()} on {socket.gethostname()}"


class Engine(Protocol):
    """Something that runs shards elsewhere."""

    def workers(self) -> int:
        """Number of shards that run at the same time."""

    def threads(self) -> int:
        """Number of threads of a worker."""

    def check(self) -> None:
        """Refuses workers with another goodqueue."""

    def submit(self, task: Task) -> None:
        """Sends a shard."""

    def waiting(self) -> int:
        """Number of shards that were sent and not taken."""

    def take(self) -> Answer:
        """Waits for any shard and returns its results."""

    def cancel(self) -> None:
        """Cancels all shards that were not taken."""


class Futures:
    """An executor of `concurrent.futures`."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.sent: set[Any] = set()

    def workers(self) -> int:
        return int(getattr(self.executor, "_max_workers", os.cpu_count() or 1))

    def threads(self) -> int:
        return 1

    def check(self) -> None:
        pass

    def submit(self, task: Task) -> None:
        self.sent.add(self.executor.submit(simulate, task))

    def waiting(self) -> int:
        return len(self.sent)

    def take(self) -> Answer:
        from concurrent.futures import FIRST_COMPLETED, wait

        future = wait(self.sent, return_when=FIRST_COMPLETED).done.pop()
        self.sent.discard(future)
        answer: Answer = future.result()
        return answer

    def cancel(self) -> None:
        for future in self.sent:
            future.cancel()


class Dask:
    """A client of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        from distributed import as_completed

        self.client = client
        self.arriving = as_completed(loop=client.loop)
        self.sent: set[Any] = set()
        self.counted = 0, float("-inf")

    def workers(self) -> int:
        # Workers come and go during a sweep, but a question to the scheduler takes a while.
        if time.monotonic() - self.counted[1] > 1.0:
            self.counted = len(self.client.nthreads()) or 1, time.monotonic()
        return self.counted[0]

    def threads(self) -> int:
        return max(self.client.nthreads().values(), default=1)

    def check(self) -> None:
        expected = program()
        for address, found in self.client.run(_goodqueue.program, on_error="return").items():
            if isinstance(found, (ImportError, AttributeError)):
                raise Error(
                    f"the worker {address} has no goodqueue, or an older one: {found}\n  help: install the client's "
                    "wheel there, and restart the worker"
                )
            if isinstance(found, BaseException):
                raise found
            if found != expected:
                raise Error(_other_program(expected, found, f"the worker {address}"))

    def submit(self, task: Task) -> None:
        # A run is determined by its task, but Dask would not know its results from those of an AQM
        # whose code has changed.
        future = self.client.submit(simulate, task, pure=False)
        self.sent.add(future)
        self.arriving.add(future)

    def waiting(self) -> int:
        return len(self.sent)

    def take(self) -> Answer:
        future = next(self.arriving)
        self.sent.discard(future)
        answer: Answer = future.result()
        future.release()
        return answer

    def cancel(self) -> None:
        with suppress(Exception):
            # The scheduler may be gone.
            self.client.cancel([future for future in self.sent if not future.done()], force=True)


class Ray:
    """The module `ray`, after `ray.init()`."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.sent: list[Any] = []

    def workers(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 1))

    def threads(self) -> int:
        return 1

    def check(self) -> None:
        pass

    def submit(self, task: Task) -> None:
        self.sent.append(self.ray.remote(simulate).remote(task))

    def waiting(self) -> int:
        return len(self.sent)

    def take(self) -> Answer:
        [done], self.sent = self.ray.wait(self.sent)
        try:
            answer: Answer = self.ray.get(done)
            return answer
        except self.ray.exceptions.RayTaskError as failed:
            # Ray shows the traceback of the worker in place of the error.
            raise failed.cause from None

    def cancel(self) -> None:
        for answer in self.sent:
            self.ray.cancel(answer)


def engine(executor: Any) -> Engine:
    """Returns the engine of what the caller passed as `executor`."""
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed":
        return Dask(executor)
    if getattr(executor, "__name__", "") == "ray":
        return Ray(executor)
    if callable(getattr(executor, "submit", None)):
        return Futures(executor)
    raise TypeError(
        f"an object of {type(executor).__name__} cannot run shards; allowed: an executor of concurrent.futures, a "
        "dask.distributed.Client, or the module ray"
    )


def run(
    executor: Any,
    scenario: Scenario,
    sweep: Sweep,
    *,
    series: str | None,
    store: str | None,
    jobs: int,
    shard: int | None,
    progress: Callable[[int, int], object] | None,
) -> None:
    """Simulates the missing runs of `sweep` with an executor."""
    by = engine(executor)
    missing = sweep.missing()
    count = sweep.count()
    if progress is not None:
        progress(count - len(missing), count)
    if not missing:
        return
    try:
        by.check()
        shards = Shards(missing, jobs or by.threads(), shard)
        while shards.left() or by.waiting():
            workers = by.workers()
            while shards.left() and by.waiting() < AHEAD * workers:
                part = shards.next(workers)
                by.submit(Task(scenario, series, part, sweep.checksum(part), program(), store, jobs))
            answer = by.take()
            shards.learn(len(answer.numbers), answer.seconds)
            sweep.take_in(answer.numbers, answer.results)
            if progress is not None:
                progress(count - len(sweep.missing()), count)
    except Error:
        raise
    except (Exception, asyncio.CancelledError) as died:
        left = len(sweep.missing())
        kept = f"are in the store `{store}`" if store else "are in `results` of this exception"
        remedy = "repeat the call" if store else "pass `store=` to keep runs on disk, then repeat the call"
        raise Error(
            f"the executor failed after {count - left} of {count} runs: {type(died).__name__}: {died}\n  help: "
            f"finished runs {kept}; {remedy} with a working executor to simulate the other {left}"
        ) from died
    finally:
        by.cancel()


AHEAD = 2
"""Shards for each worker: one that runs, and one that waits for its end."""
