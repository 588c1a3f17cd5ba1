"""The functions that simulate."""

from __future__ import annotations

from . import _arguments, _goodqueue
from ._goodqueue import Error, Scenario
from ._results import Results

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from ._arguments import QdiscLike
    from ._progress import Progress
    from ._units import RateLike, TimeLike


@_arguments.checked
def compare(
    scenario: Scenario | str | os.PathLike[str] | None = None,
    *,
    # Options of a request: begin
    qdiscs: QdiscLike | Iterable[QdiscLike] | None = None,
    qdiscs_up: str | Iterable[str] | None = None,
    rate: RateLike | None = None,
    up: RateLike | None = None,
    rtt: TimeLike | None = None,
    flows: int | None = None,
    time: TimeLike | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    trace_down: str | os.PathLike[str] | None = None,
    trace_up: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    # Options of a request: end
    jobs: int = 0,
    series: TimeLike | None = None,
    packets: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Compares disciplines on one bottleneck with one traffic mix.

    The options have the names, forms and defaults of `goodqueue compare`: `rate="10mbit"`,
    `rtt="50ms"`, `qdiscs=["pfifo", "fq_codel target 13ms"]`. Rates may also be numbers of bit/s
    (`rate=10e6`, `rate=gq.mbit(10)`), and times numbers of seconds or a `timedelta` (`rtt=0.05`,
    `rtt=gq.ms(50)`, `rtt=timedelta(milliseconds=50)`). Without options, the scenario is the
    RRUL load on a 10/1 Mbit/s line with a base round-trip time of 50 ms. Two options for the same
    key are an error, which names them as the command does.

    A class among `qdiscs` is an AQM written in Python.

    `series` is the step of time series, such as `"200ms"`. `jobs` is the number of threads (0: one for each
    processor). `progress` is called with the number of finished runs and of all runs; `True` shows a bar.
    `run` describes the other arguments.

    Options of a request:

    * `qdiscs`: Discipline in tc's grammar, such as 'fq_codel target 13ms', or a list [default: a modem's
      buffer (bfifo limit 256kb), red adaptive, pie, codel, sfq, fq_codel, cake].
    * `qdiscs_up`: Discipline from the client, if it is not that of qdiscs; one for all, or one for each of
      qdiscs. In tables, both are one name, DOWN / UP, which qdiscs takes as well.
    * `rate`: Rate towards the client, such as 50mbit [default: 10mbit].
    * `up`: Rate from the client, such as 10mbit [default: 1mbit, or the value of rate].
    * `rtt`: Round-trip time without queueing, such as 20ms [default: 50ms].
    * `flows`: Number of TCP flows in each direction [default: 4].
    * `time`: Duration of each run [default: 60s].
    * `seed`: Seed of the first run [default: 1].
    * `seeds`: Number of repetitions, with consecutive seeds [default: 1].
    * `trace_down`: Mahimahi trace to use as the link towards the client.
    * `trace_up`: Mahimahi trace to use as the link from the client.
    * `set`: Set a key of the scenario, as in `{"tcp.ecn": True}`. `goodqueue explain scenario` lists all
      keys.
    """
    # locals() is the arguments here, because this function has no variables yet.
    given = locals()
    options = {name: given[name] for name, _, _ in _goodqueue.options()}
    changed = _arguments.scenario(scenario).with_options(**options)
    return run(
        changed, jobs=jobs, series=series, packets=packets, store=store, executor=executor, progress=progress
    )


@_arguments.checked
def run(
    scenario: Scenario | str | os.PathLike[str],
    *,
    jobs: int = 0,
    series: TimeLike | None = None,
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

    `packets` is a file for every packet of the bottleneck (`.csv`, `.parquet`, `.pcapng`, `.sqlog`), one for each run.

    An exception has the finished runs in its attribute `results`.
    """
    all_runs = _arguments.scenario(scenario)
    folder = _arguments.path("store", store)
    target = _arguments.path("packets", packets)
    step = None if series is None else _goodqueue.quantity("time", "series", series)[1]
    jobs = _arguments.whole("jobs", jobs, 0, _arguments.MOST_JOBS)
    if executor is not None and packets is not None:
        raise Error("packets are written where a run is simulated\n  help: omit `packets`, or `executor`")
    if shard is not None and _arguments.whole("shard", shard, 0) < 1:
        raise Error(f"a shard of {shard} runs is not possible\n  allowed: 1 or more")
    sweep = _goodqueue.Sweep(all_runs, step, folder, target, claimed=folder is not None and executor is not None)
    with _shown(progress) as told:
        try:
            if executor is None:
                sweep.simulate(sweep.missing(), jobs, told)
            else:
                from . import _executors

                _executors.run(
                    executor, all_runs, sweep, series=step, store=folder, jobs=jobs, shard=shard, progress=told
                )
        except BaseException as stopped:
            stopped.results = Results(sweep.results())  # type: ignore[attr-defined]
            raise
    return Results(sweep.results(), sweep.packets)


@_arguments.checked
def sweep(
    scenario: Scenario | str | os.PathLike[str] | None,
    over: Mapping[str, Iterable[Any]],
    *,
    seeds: int | None = None,
    jobs: int = 0,
    series: TimeLike | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
    shard: int | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Simulates a scenario for every combination of the values in `over`.

    Values are texts, numbers in SI base units, `gq.mbit(10)`, `gq.ms(50)` or a `timedelta`. The other
    arguments are those of `run`. A sweep that was stopped resumes with the same call, if it has
    a `store`.

    >>> results = sweep(None, {"link.rtt": ["20ms", "100ms"]}, seeds=2)  # doctest: +SKIP
    """
    swept = _arguments.scenario(scenario)
    if seeds is not None:
        swept = swept.set("seeds", _arguments.whole("seeds", seeds, 1))
    for key, values in _arguments.mapping("over", over, '{"link.rtt": ["20ms", "100ms"]}').items():
        if isinstance(values, str):
            raise Error(f"the values of `{key}` are one text, {values!r}\n  allowed: a list, such as [{values!r}]")
        # Disciplines are compared at each point of the sweep.
        swept = swept.set("qdiscs" if key in ("qdisc", "qdiscs") else f"sweep.{key}", _listed(key, values))
    return run(
        swept, jobs=jobs, series=series, store=store, executor=executor, shard=shard, progress=progress
    )


def _shown(progress: Progress | bool | None) -> AbstractContextManager[Progress | None]:
    from contextlib import nullcontext

    if progress is None or progress is False:
        return nullcontext(None)
    if progress is True:
        from ._progress import bar

        return bar()
    if not callable(progress):
        raise _arguments.wrong("progress", progress, "True, False, or a function of the finished and of all runs")
    return nullcontext(progress)


def _listed(key: str, values: Any) -> list[Any]:
    return _arguments.listed(f"over[{key!r}]", values, "a list of values")
