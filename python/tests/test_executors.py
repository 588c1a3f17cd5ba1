"""Sweeps in other processes: executors of `concurrent.futures`, and a Dask cluster that loses a worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import goodqueue as gq
from goodqueue import _executors, _goodqueue

SHORT = gq.Scenario().set("duration", "1s").set("qdiscs", ["pfifo", "fq_codel"])
OVER = {"link.rtt": ["10ms", "20ms", "30ms"]}
RUNS = 3 * 2 * 4


@pytest.fixture(scope="module")
def expected() -> str:
    return gq.sweep(SHORT, OVER, seeds=4).to_json()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


def spawned() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_threads_and_processes_give_the_bytes_of_one_call(expected: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert gq.sweep(SHORT, OVER, seeds=4, executor=threads, shard=5).to_json() == expected
    with spawned() as processes:
        assert gq.sweep(SHORT, OVER, seeds=4, executor=processes).to_json() == expected


def test_a_dask_cluster_gives_the_same_bytes_and_shards_arrive_as_they_finish(client: Client, expected: str) -> None:
    told: list[int] = []
    swept = gq.sweep(SHORT, OVER, seeds=4, executor=client, shard=4, progress=lambda done, _: told.append(done))
    assert swept.to_json() == expected
    assert told == [0, 4, 8, 12, 16, 20, 24]


def test_a_worker_that_is_killed_loses_nothing(client: Client, expected: str, tmp_path: Path) -> None:
    victim = next(iter(client.run(os.getpid).values()))

    def kill(done: int, _: int) -> None:
        nonlocal victim
        if done > 0 and victim:
            os.kill(victim, signal.SIGKILL)
            victim = 0

    swept = gq.sweep(SHORT, OVER, seeds=4, executor=client, shard=1, store=tmp_path, progress=kill)
    assert victim == 0
    assert swept.to_json() == expected


def test_a_client_that_is_stopped_loses_nothing_and_the_same_call_resumes(
    client: Client, expected: str, tmp_path: Path
) -> None:
    def stop(done: int, _: int) -> None:
        if done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gq.sweep(SHORT, OVER, seeds=4, executor=client, shard=4, store=tmp_path, progress=stop)
    told: list[int] = []
    again = gq.sweep(
        SHORT, OVER, seeds=4, executor=client, shard=4, store=tmp_path, progress=lambda done, _: told.append(done)
    )
    assert told[0] >= 8 and told[-1] == RUNS
    assert again.to_json() == expected


def test_a_worker_keeps_each_run_at_once_in_a_store_that_it_shares(client: Client, tmp_path: Path) -> None:
    gq.sweep(SHORT, {}, seeds=1, store=tmp_path, executor=client)
    more = SHORT.set("seeds", 3)
    whole = _goodqueue.Sweep(more, store=str(tmp_path), claimed=True)
    numbers = whole.missing()
    task = _executors.Task(more, None, numbers, whole.checksum(numbers), gq._goodqueue.program(), str(tmp_path), 1)
    client.submit(_executors.simulate, task).result()
    # Nobody took the answer.
    assert _goodqueue.Sweep(more, store=str(tmp_path)).missing() == []


def test_an_executor_that_dies_is_one_error_and_the_same_call_resumes(expected: str, tmp_path: Path) -> None:
    with spawned() as processes:

        def kill(done: int, _: int) -> None:
            if done > 0:
                for pid in list(processes._processes):
                    os.kill(pid, signal.SIGKILL)

        with pytest.raises(gq.Error, match="the executor failed after") as died:
            gq.sweep(SHORT, OVER, seeds=4, executor=processes, shard=2, store=tmp_path, progress=kill)
    assert "repeat the call with a working executor" in str(died.value)
    assert gq.sweep(SHORT, OVER, seeds=4, store=tmp_path).to_json() == expected


def test_workers_with_another_goodqueue_are_refused_before_anything_runs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_executors, "program", lambda: ("0.0.9", "0123456789abcdef"))
    with pytest.raises(gq.Error) as raised:
        gq.sweep(SHORT, OVER, seeds=1, executor=client)
    message = str(raised.value)
    assert "the worker tcp://" in message and "has goodqueue 0.1.0" in message
    assert "the client has goodqueue 0.0.9 (program 0123456789abcdef)" in message
    assert "install the client's wheel there" in message


def test_a_worker_that_joins_later_is_checked_as_well() -> None:
    task = _executors.Task(SHORT, None, [0], 0, ("0.0.9", "0123456789abcdef"), None, 1)
    with pytest.raises(gq.Error, match="but the client has goodqueue 0.0.9"):
        _executors.simulate(task)


def test_a_file_that_differs_on_the_worker_is_noticed(tmp_path: Path) -> None:
    trace = tmp_path / "lte.down"
    trace.write_text("1\n2\n3\n")
    scenario = SHORT.set("link.down", {"trace": str(trace)})
    here = _goodqueue.Sweep(scenario)
    task = _executors.Task(scenario, None, [0], here.checksum([0]), gq._goodqueue.program(), None, 1)
    trace.write_text("1\n2\n4\n")
    with pytest.raises(gq.Error, match="a file that it names has other contents"), spawned() as processes:
        processes.submit(_executors.simulate, task).result()


def test_a_store_belongs_to_one_sweep(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        gq.sweep(SHORT, {"link.rtt": ["10ms"]}, store=tmp_path, executor=threads)
        with pytest.raises(gq.Error) as raised:
            gq.sweep(SHORT.set("link.up", "2mbit"), {"link.rtt": ["10ms"]}, store=tmp_path, executor=threads)
    assert "holds the shards of another sweep" in str(raised.value)
    assert "choose another `store`" in str(raised.value)


class Deadline:
    def on_dequeue(self, seen: gq.Seen) -> str:
        return "drop" if seen.sojourn > 0.02 else "pass"


class Fails:
    def on_dequeue(self, seen: gq.Seen) -> Any:
        raise RuntimeError("no idea")


def test_an_aqm_written_in_python_runs_on_workers(client: Client) -> None:
    over = {"qdisc": [Deadline], "duration": ["1s"]}
    assert gq.sweep(None, over, executor=client).to_json() == gq.sweep(None, over).to_json()
    with pytest.raises(gq.Error, match="`Fails.on_dequeue` raised RuntimeError: no idea"):
        gq.sweep(None, {"qdisc": [Fails], "duration": ["1s"]}, executor=client)


def test_things_that_run_nothing_are_refused() -> None:
    with pytest.raises(TypeError, match="allowed: an executor of concurrent.futures"):
        gq.run(SHORT, executor="dask")
    with pytest.raises(gq.Error, match="a shard of 0 runs"):
        gq.run(SHORT, shard=0)
