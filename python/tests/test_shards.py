"""The sizes of shards, on a cluster that exists only in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import pytest

from goodqueue._shards import LARGEST, Shards


def simulate(
    shards: Shards, workers: int, threads: int, cost: Callable[[int], float]
) -> tuple[list[int], list[float], float]:
    """Runs all shards. Returns their sizes and times in the order of their ends, and when the last one ended."""
    idle, running = [(0.0, worker) for worker in range(workers)], []
    sizes, times, end = [], [], 0.0
    while shards.left() or running:
        while shards.left() and idle:
            at, worker = heapq.heappop(idle)
            part = shards.next(workers)
            rounds = [part[begin : begin + threads] for begin in range(0, len(part), threads)]
            taken = sum(max(cost(number) for number in of_round) for of_round in rounds)
            heapq.heappush(running, (at + taken, worker, taken, len(part)))
        end, worker, taken, size = heapq.heappop(running)
        shards.learn(size, taken)
        sizes.append(size)
        times.append(taken)
        heapq.heappush(idle, (end, worker))
    return sizes, times, end


@pytest.mark.parametrize("seconds", [0.02, 0.2, 2.0])
def test_shards_start_with_one_run_and_grow_to_seconds(seconds: float) -> None:
    runs = range(int(2000 / seconds))
    sizes, times, end = simulate(Shards(runs), 2, 1, lambda _: seconds)
    assert sum(sizes) == len(runs)
    assert sizes[0] == 1
    assert max(times) == pytest.approx(15.0, rel=0.15)
    assert len(sizes) < 180, "most of the work is in shards of seconds"
    assert end <= 1.02 * len(runs) * seconds / 2, "both workers end at about the same time"


def test_runs_of_minutes_are_shards_of_one() -> None:
    sizes, _, _ = simulate(Shards(range(40)), 4, 1, lambda _: 300.0)
    assert sizes == [1] * 40


def test_every_thread_of_a_wide_worker_has_a_run() -> None:
    sizes, _, _ = simulate(Shards(range(320), threads=16), 2, 16, lambda _: 60.0)
    assert sizes[:18] == [16] * 18 and sum(sizes) == 320


def test_a_small_sweep_is_divided_among_all_workers() -> None:
    assert len(Shards(range(24), threads=16).next(2)) == 12


def test_points_that_take_longer_do_not_meet_large_shards() -> None:
    """A sweep of rates: from the 1,000th run on, each run takes fifty times as long."""
    sizes, times, _ = simulate(Shards(range(2000)), 2, 1, lambda number: 0.02 if number < 1000 else 1.0)
    assert sum(sizes) == 2000
    assert sorted(times)[-3] < 40.0, "one shard for each worker was too large at most"


def test_runs_that_take_no_time_are_in_limited_shards() -> None:
    sizes, _, _ = simulate(Shards(range(100_000)), 1, 1, lambda _: 0.0)
    assert max(sizes) == LARGEST and sum(sizes) == 100_000


def test_a_size_that_the_caller_sets_is_kept() -> None:
    sizes, _, _ = simulate(Shards(range(10), threads=8, size=4), 2, 8, lambda _: 1.0)
    assert sizes == [4, 4, 2]
