"""The functions that simulate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._goodqueue import Scenario, simulate
from ._results import Results

Progress = Callable[[int, int], object]


def compare(
    scenario: Scenario | str | None = None,
    *,
    qdiscs: Iterable[str] = (),
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
    progress: Progress | bool | None = None,
) -> Results:
    """Compares disciplines on one bottleneck with one traffic mix.

    The options have the names, forms and defaults of `goodqueue compare`: `rate="10mbit"`,
    `rtt="50ms"`, `qdiscs=["pfifo", "fq_codel target 13ms"]`. Without options, the scenario is the
    RRUL load on a 10/1 Mbit/s line with a base round-trip time of 50 ms. Two options for the same
    key are an error, which names them as the command does.

    `set` sets keys of the scenario, such as `{"tcp.ecn": True}`. `series` is the step of time series,
    such as `"200ms"`. `jobs` is the number of threads (0: one for each processor). `progress` is
    called with the number of finished runs and of all runs; `True` shows a bar.
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
    return run(changed, jobs=jobs, series=series, progress=progress)


def run(
    scenario: Scenario | str,
    *,
    jobs: int = 0,
    series: str | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Simulates all runs of a scenario: every discipline, every sweep point, every seed.

    `scenario` may be the name of a built-in scenario or the path of a file. Ctrl-C stops the runs.
    """
    all_runs = _scenario(scenario)
    if progress is True:
        from ._progress import bar

        with bar() as shown:
            return Results(simulate(all_runs, jobs, series, shown))
    return Results(simulate(all_runs, jobs, series, progress or None))


def sweep(
    scenario: Scenario | str | None,
    over: Mapping[str, Iterable[Any]],
    *,
    seeds: int | None = None,
    jobs: int = 0,
    series: str | None = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Simulates a scenario for every combination of the values in `over`.

    >>> results = sweep(None, {"link.rtt": ["20ms", "100ms"]}, seeds=2)  # doctest: +SKIP
    """
    swept = _scenario(scenario)
    if seeds is not None:
        swept = swept.set("seeds", seeds)
    for key, values in over.items():
        swept = swept.set(f"sweep.{key}", list(values))
    return run(swept, jobs=jobs, series=series, progress=progress)


def _scenario(given: Scenario | str | None) -> Scenario:
    if given is None:
        return Scenario()
    return Scenario.load(given) if isinstance(given, str) else given
