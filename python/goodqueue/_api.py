"""The functions that simulate."""

from __future__ import annotations

import os

from . import _goodqueue
from ._goodqueue import Error, Scenario
from ._results import Results

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    Progress = Callable[[int, int], object]


def compare(
    scenario: Scenario | str | None = None,
    *,
    qdiscs: Iterable[str | Callable[[], Any]] = (),
    rate: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    trace_down: str | None = None,
    trace_up: str | None = None,
    flows: int | None = None,
    time: str | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    jobs: int = 0,
    series: str | None = None,
    packets: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Compares disciplines on one bottleneck with one traffic mix.

    The options have the names, forms and defaults of `goodqueue compare`: `rate="10mbit"`,
    `rtt="50ms"`, `qdiscs=["pfifo", "fq_codel target 13ms"]`. Without options, the scenario is the
    RRUL load on a 10/1 Mbit/s line with a base round-trip time of 50 ms. Two options for the same
    key are an error, which names them as the command does.

    A class among `qdiscs` is an AQM written in Python.

    `set` sets keys of the scenario, such as `{"tcp.ecn": True}`. `series` is the step of time series,
    such as `"200ms"`. `jobs` is the number of threads (0: one for each processor). `progress` is
    called with the number of finished runs and of all runs; `True` shows a bar. `run` describes the
    other arguments.
    """
    changed = _scenario(scenario).with_options(
        rate=rate,
        up=up,
        rtt=rtt,
        trace_down=trace_down,
        trace_up=trace_up,
        flows=flows,
        time=time,
        seed=seed,
        seeds=seeds,
        # A single line would otherwise become a list of letters.
        qdiscs=[qdiscs] if isinstance(qdiscs, str) else list(qdiscs),
        set=dict(set or {}),
    )
    return run(
        changed, jobs=jobs, series=series, packets=packets, store=store, executor=executor, progress=progress
    )


def run(
    scenario: Scenario | str,
    *,
    jobs: int = 0,
    series: str | None = None,
    packets: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
    shard: int | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Simulates all runs of a scenario: every discipline, every sweep point, every seed.

    `scenario` may be the name of a built-in scenario or the path of a file. Ctrl-C stops the runs.

    `store` keeps each finished run. It is a folder, as `--out` of `goodqueue run`, or the URL of an object
    store, as `--store`. The same call then simulates only missing runs, also after an interruption or when
    the sweep has grown.

    `executor` simulates elsewhere: a `dask.distributed.Client`, an executor of `concurrent.futures`, or
    the module `ray`. It gets shards of about 15 seconds, by the measured times of finished ones, or of
    `shard` runs. `jobs` is then the number of threads of each shard (0: those of the Dask worker).

    `packets` is a file for every packet of the bottleneck (`.csv`, `.parquet`, `.pcapng`), one for each run.

    An exception has the finished runs in its attribute `results`.
    """
    all_runs = _scenario(scenario)
    folder = None if store is None else os.fspath(store)
    if executor is not None and packets is not None:
        raise Error("packets are written where a run is simulated\n  help: omit `packets`, or `executor`")
    if shard is not None and shard < 1:
        raise Error(f"a shard of {shard} runs is not possible\n  allowed: 1 or more")
    sweep = _goodqueue.Sweep(all_runs, series, folder, packets, claimed=folder is not None and executor is not None)
    with _shown(progress) as told:
        try:
            if executor is None:
                sweep.simulate(sweep.missing(), jobs, told)
            else:
                from . import _executors

                _executors.run(
                    executor, all_runs, sweep, series=series, store=folder, jobs=jobs, shard=shard, progress=told
                )
        except BaseException as stopped:
            stopped.results = Results(sweep.results())  # type: ignore[attr-defined]
            raise
    return Results(sweep.results(), sweep.packets)


def sweep(
    scenario: Scenario | str | None,
    over: Mapping[str, Iterable[Any]],
    *,
    seeds: int | None = None,
    jobs: int = 0,
    series: str | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
    shard: int | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Simulates a scenario for every combination of the values in `over`.

    The other arguments are those of `run`. A sweep that was stopped resumes with the same call, if it has
    a `store`.

    >>> results = sweep(None, {"link.rtt": ["20ms", "100ms"]}, seeds=2)  # doctest: +SKIP
    """
    swept = _scenario(scenario)
    if seeds is not None:
        swept = swept.set("seeds", seeds)
    for key, values in over.items():
        if isinstance(values, str):
            raise Error(f"the values of `{key}` are one text, {values!r}\n  allowed: a list, such as [{values!r}]")
        # Disciplines are compared at each point of the sweep.
        swept = swept.set("qdiscs" if key in ("qdisc", "qdiscs") else f"sweep.{key}", list(values))
    return run(
        swept, jobs=jobs, series=series, store=store, executor=executor, shard=shard, progress=progress
    )


def _shown(progress: Progress | bool | None) -> AbstractContextManager[Progress | None]:
    if progress is True:
        from ._progress import bar

        return bar()
    from contextlib import nullcontext

    return nullcontext(progress or None)


def _scenario(given: Scenario | str | None) -> Scenario:
    if given is None:
        return Scenario()
    return Scenario.load(given) if isinstance(given, str) else given
