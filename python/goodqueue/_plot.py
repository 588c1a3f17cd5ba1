"""Figures of results: distributions, time series, ellipses and sweeps."""

from __future__ import annotations

import difflib
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ._figure import PaperFigure, figure, legend, logarithmic, look, spans, style
from ._goodqueue import Error

if TYPE_CHECKING:
    from ._results import Results

    Numbers = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

Path = str | os.PathLike[str] | None


class Series(NamedTuple):
    """A time series of the tables, and its form in figures."""

    name: str
    label: str
    factor: float


SERIES = {
    "ping": Series("ping_s", "Ping round-trip time (ms)", 1e3),
    "sojourn": Series("sojourn_mean_s", "Mean sojourn time (ms)", 1e3),
    "longest sojourn": Series("sojourn_max_s", "Longest sojourn time (ms)", 1e3),
    "queue": Series("queue_packets", "Queue (packets)", 1),
    "throughput": Series("throughput_bps", "Throughput (Mbit/s)", 1e-6),
    "goodput": Series("goodput_bps", "Goodput of all flows (Mbit/s)", 1e-6),
    "drops": Series("drops", "Drops (packets per step)", 1),
}

FACTORS = {"ms": 1e3, "us": 1e6, "Mbit/s": 1e-6, "kbit/s": 1e-3, "%": 1e2}
"""Factors from SI units to those of figures."""

KEYS = {"link.rtt": "Base round-trip time", "link.up": "Upload rate", "link.down": "Download rate"}


class Plot:
    """Figures for papers. Each method returns a matplotlib figure, and writes it if `path` is given.

    `column` is the width: `"single"` (3.5 in) or `"double"` (7.16 in). `at` selects a point of a sweep, such
    as `{"link.rtt": 0.02}`, in SI units. Each figure states the link, the traffic and the repetitions.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def cdf(
        self, of: str = "ping", *, direction: str = "down", at: Mapping[str, Any] | None = None,
        log: bool | None = None, column: str = "single", path: Path = None,
    ) -> PaperFigure:
        """The distribution of a time series, with the samples of all seeds together.

        A lost ping never arrives, so a curve ends below 1 if pings were lost. `log` selects a logarithmic axis;
        by default it is one if the values span a factor of 20.
        """
        series, rows = self._samples(of, direction, at)
        pings = "; a curve ends at the share of answered pings" if of == "ping" else ""
        note = f"Samples of all seeds{pings}."
        with style():
            drawn, [axes] = figure(column, caption=self._caption("" if of == "ping" else direction, at, note))
            middle: list[float] = []
            for number, (qdisc, values) in enumerate(self._by_qdisc(rows, lambda row: row["value"])):
                present = numpy.sort([value for value in values if value is not None]) * series.factor
                share = numpy.arange(1, len(present) + 1) / max(len(values), 1)
                axes.step(present, share, where="post", label=qdisc, **_line(number))
                if len(present):
                    middle.extend(numpy.percentile(present, [5, 95]))
            axes.set(xlabel=series.label, ylabel="Cumulative share", ylim=(0, 1.02))
            if spans(middle) if log is None else log:
                logarithmic(axes.xaxis)
            else:
                axes.set_xlim(left=0)
            legend(drawn, axes)
        return _written(drawn, path)

    def timeline(
        self, *of: str, direction: str = "down", at: Mapping[str, Any] | None = None, log: bool | None = None,
        column: str = "single", path: Path = None,
    ) -> PaperFigure:
        """Time series below each other: means over the seeds, with bands that hold the middle half of the seeds.

        Without names: the ping and the throughput. `log` selects logarithmic axes for times; by default an axis is
        logarithmic if the means of the disciplines span a factor of 20.
        """
        names = of or ("ping", "throughput")
        seeds = self._seeds()
        note = "Lines: means over seeds; bands: the middle half of the seeds." if seeds > 1 else ""
        with style():
            way = direction if any(name != "ping" for name in names) else ""
            drawn, panels = figure(column, len(names), self._caption(way, at, note))
            for name, axes in zip(names, panels, strict=True):
                series, rows = self._samples(name, direction, at)
                means = []
                for number, (qdisc, chosen) in enumerate(self._by_qdisc(rows, lambda row: row)):
                    times, lines = _over_time(chosen, adds=name == "goodput")
                    mean, low, high = _middle(lines * series.factor)
                    axes.plot(times, mean, label=qdisc, **_line(number))
                    if seeds > 1:
                        axes.fill_between(times, low, high, color=look(number)["color"], alpha=0.15, linewidth=0)
                    if not numpy.isnan(mean).all():
                        means.append(float(numpy.nanmean(mean)))
                axes.set_ylabel(series.label if len(names) == 1 else series.label.replace(" (", "\n("))
                if series.name.endswith("_s") and (spans(means) if log is None else log):
                    logarithmic(axes.yaxis)
                else:
                    axes.set_ylim(bottom=0)
                axes.margins(x=0)
            panels[-1].set_xlabel("Time (s)")
            drawn.align_ylabels(panels)
            legend(drawn, panels[0])
        return _written(drawn, path)

    def ellipses(
        self, x: str = "induced_latency_s.mean", y: str = "goodput.down", *, at: Mapping[str, Any] | None = None,
        log: bool | None = None, column: str = "single", path: Path = None,
    ) -> PaperFigure:
        """Two metrics against each other: the mean of each discipline, and the ellipse of one standard deviation.

        The axis of a latency runs to the left, so that better disciplines are on the upper right. An ellipse needs
        three seeds. `log` selects a logarithmic axis for `x`, with mean and deviation of the logarithms; by default
        it is one if the values span a factor of 20.
        """
        rows = self._runs([x, y], at)
        (name, factor), (name_y, factor_y) = self._label(x), self._label(y)
        clouds = {}
        for qdisc, pairs in self._by_qdisc(rows, lambda row: (row[x], row[y])):
            cloud = numpy.array([pair for pair in pairs if None not in pair], dtype=float).reshape(-1, 2)
            if len(cloud) < 3:
                raise Error(
                    f"`{qdisc}` has values of {len(cloud)} seeds, but an ellipse needs three\n"
                    "  help: pass `seeds=10` to the runs"
                )
            clouds[qdisc] = cloud * [factor, factor_y]
        is_log = spans([value for cloud in clouds.values() for value in cloud[:, 0]]) if log is None else log
        note = f"Dots: means over seeds; ellipses: 1σ of the seeds{', of the logarithm of x' * is_log}."  # noqa: RUF001 (sigma is meant)
        with style():
            drawn, [axes] = figure(column, caption=self._caption("", at, note))
            for number, (qdisc, cloud) in enumerate(clouds.items()):
                [centre], edge = _ellipse(cloud, is_log)
                colour = look(number)["color"]
                axes.fill(*edge.T, facecolor=colour, alpha=0.2, linewidth=0)
                axes.plot(*edge.T, color=colour, linewidth=0.8)
                axes.plot(
                    *centre, color=colour, marker=look(number)["marker"], markersize=2.5, linestyle="", label=qdisc
                )
            axes.margins(0.08)
            axes.set(xlabel=name, ylabel=name_y)
            if is_log:
                logarithmic(axes.xaxis)
            if "latency" in x or "sojourn" in x:
                axes.invert_xaxis()
                axes.set_xlabel(f"{name}, better →")
            legend(drawn, axes)
        return _written(drawn, path)

    def sweep(
        self, x: str, y: str = "induced_latency_s.mean", hue: str = "qdisc", *, at: Mapping[str, Any] | None = None,
        log: str | None = None, column: str = "single", path: Path = None,
    ) -> PaperFigure:
        """A metric over a swept key: means over the seeds with 95 % confidence intervals, a line for each `hue`.

        `log` names the logarithmic axes: `"x"`, `"y"`, `"xy"` or `""`. By default they are those whose values span a
        factor of 20.
        """
        rows = self._runs([x, y, hue], at, {key for key in self._swept() if key not in (x, hue)})
        seeds = self._seeds()
        note = "Points: means over seeds; bars: 95 % confidence intervals." if seeds > 1 else ""
        places = [value for value in dict.fromkeys(row[x] for row in rows) if value is not None]
        is_number = all(isinstance(value, (int, float)) for value in places)
        (label, factor), (name, scale) = self._label(x), self._label(y)
        places = sorted(places) if is_number else places
        with style():
            drawn, [axes] = figure(column, caption=self._caption("", at, note, swept=(x, hue)))
            lowest: list[float] = []
            for number, (curve, chosen) in enumerate(_grouped(rows, hue)):
                known_rows = [row for row in chosen if row[y] is not None]
                at_x = [[row[y] * scale for row in known_rows if row[x] == value] for value in places]
                known = [index for index, found in enumerate(at_x) if found]
                means = [float(numpy.mean(at_x[index])) for index in known]
                errors = [_half_interval(at_x[index]) for index in known]
                axes.errorbar(
                    [places[index] * factor if is_number else index for index in known], means,
                    yerr=errors if seeds > 1 else None, label=str(curve), capsize=2, elinewidth=0.7, **look(number),
                )
                lowest.extend(low for mean, error in zip(means, errors, strict=True) for low in (mean, mean - error))
            axes.set(xlabel=label, ylabel=name)
            if not is_number:
                axes.set_xticks(range(len(places)), [str(place) for place in places])
            elif spans(places) if log is None else "x" in log:
                logarithmic(axes.xaxis)
                axes.set_xticks([place * factor for place in places], [f"{place * factor:g}" for place in places])
            if spans(lowest) if log is None else "y" in log:
                logarithmic(axes.yaxis)
            elif min(lowest, default=-1) >= 0:
                axes.set_ylim(bottom=0)
            legend(drawn, axes)
        return _written(drawn, path)

    def _samples(
        self, name: str, direction: str, at: Mapping[str, Any] | None
    ) -> tuple[Series, list[dict[str, Any]]]:
        """Returns the rows of a time series at one point of the sweep."""
        if name not in SERIES:
            raise Error(_unknown("time series", name, SERIES))
        if direction not in ("down", "up"):
            raise Error(f"there is no direction `{direction}`\n  allowed: down, up")
        series = SERIES[name]
        columns = self._results.series.columns()
        rows = [row for row in _rows(columns) if row["series"] == series.name and row["direction"] in (None, direction)]
        rows = self._chosen(rows, at, self._swept())
        if not rows:
            raise Error(f"the runs have no samples of `{name}`\n  help: add such traffic, as `kind = \"ping\"`")
        return series, rows

    def _runs(
        self, keys: Iterable[str], at: Mapping[str, Any] | None, single: set[str] | None = None
    ) -> list[dict[str, Any]]:
        """Returns the rows of runs. The swept keys `single` have one value among them."""
        columns = self._results.columns()
        for key in keys:
            if key not in columns:
                raise Error(_unknown("column", key, columns))
        return self._chosen(_rows(columns), at, self._swept() if single is None else single)

    def _chosen(
        self, rows: list[dict[str, Any]], at: Mapping[str, Any] | None, single: set[str]
    ) -> list[dict[str, Any]]:
        for key, wanted in (at or {}).items():
            values = {row.get(key) for row in rows}
            if rows and wanted not in values:
                shown = ", ".join(str(value) for value in sorted(values, key=str))
                raise Error(f"no run has {key} = {wanted}\n  allowed: {shown}")
            rows = [row for row in rows if row[key] == wanted]
        for key in sorted(single):
            values = {row.get(key) for row in rows}
            if len(values) > 1:
                shown = ", ".join(str(value) for value in sorted(values, key=str))
                raise Error(
                    f"`{key}` has several values in the sweep: {shown}\n  help: choose one with `at={{\"{key}\": ...}}`"
                )
        return rows

    def _seeds(self) -> int:
        return len({run["seed"] for run in self._results.runs})

    def _swept(self) -> set[str]:
        return {key for run in self._results.runs for key in run.get("sweep", {})}

    def _by_qdisc(
        self, rows: list[dict[str, Any]], value: Callable[[dict[str, Any]], Any]
    ) -> list[tuple[str, list[Any]]]:
        return [(str(qdisc), [value(row) for row in chosen]) for qdisc, chosen in _grouped(rows, "qdisc")]

    def _label(self, key: str) -> tuple[str, float]:
        """Returns the label of an axis, and the factor from the column to its unit."""
        metrics = self._results._inner.metrics()
        if key in metrics:
            name, unit = metrics[key]
            return (f"{name} ({unit})" if unit else name), FACTORS.get(unit, 1)
        texts = [str(run.get("sweep", {}).get(key, "")) for run in self._results.runs]
        name = KEYS.get(key, key)
        if any(text.endswith("bit") for text in texts):
            return f"{name} (Mbit/s)", 1e-6
        if any(text[:1].isdigit() and text.endswith("s") for text in texts):
            return f"{name} (ms)", 1e3
        return name, 1

    def _caption(
        self, direction: str, at: Mapping[str, Any] | None, note: str = "", swept: tuple[str, ...] = ()
    ) -> str:
        seeds = self._seeds()
        varied = [key for key in sorted(self._swept()) if key in swept]
        parts = [self._results._inner.headline(varied), f"{seeds} seed{'s' * (seeds > 1)}"]
        point = [
            f"with {key} = {value:g}" if isinstance(value, float) else f"with {key} = {value}"
            for key, value in (at or {}).items()
        ]
        point += [f"{key}: {self._values_of(key)}" for key in varied]
        if direction:
            point.append(f"direction: {direction}")
        return "; ".join(parts + point) + f". {note} goodqueue {self._results._json['goodqueue']}".rstrip()

    def _values_of(self, key: str) -> str:
        """Returns the values of a swept key as given: a few of them, or the first and the last."""
        swept = [run["sweep"] for run in self._results.runs if key in run.get("sweep", {})]
        values = list(dict.fromkeys(str(point[key]) for point in swept))
        return ", ".join(values) if len(values) <= 3 else f"{values[0]} to {values[-1]}"


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _grouped(rows: list[dict[str, Any]], key: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Returns the rows of each value, in the order in which values first occur."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return list(groups.items())


def _over_time(rows: list[dict[str, Any]], adds: bool) -> tuple[Numbers, Numbers]:
    """Returns the times of the steps, and a line for each seed. Flows of a run are added, or averaged."""
    times = sorted({row["t_s"] for row in rows})
    place = {time: index for index, time in enumerate(times)}
    lines = []
    for _, chosen in _grouped(rows, "run"):
        total, count = numpy.zeros(len(times)), numpy.zeros(len(times))
        for row in chosen:
            if row["value"] is not None:
                total[place[row["t_s"]]] += row["value"]
                count[place[row["t_s"]]] += 1
        lines.append(numpy.where(count > 0, total / (1 if adds else numpy.maximum(count, 1)), numpy.nan))
    return numpy.array(times), numpy.array(lines)


def _middle(lines: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Returns mean and quartiles over the lines at each time; NaN where no line has a value."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice|All-NaN slice")
        return numpy.nanmean(lines, axis=0), *numpy.nanpercentile(lines, [25, 75], axis=0)


def _ellipse(cloud: Numbers, is_log: bool) -> tuple[Numbers, Numbers]:
    """Returns the mean of a cloud of points, and the ellipse of one standard deviation around it."""
    flat = cloud.copy()
    if is_log:
        flat[:, 0] = numpy.log(flat[:, 0])
    centre = flat.mean(axis=0)
    lengths, directions = numpy.linalg.eigh(numpy.cov(flat.T))
    angles = numpy.linspace(0, 2 * math.pi, 181)
    circle = numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1)
    edge = centre + circle * numpy.sqrt(numpy.maximum(lengths, 0)) @ directions.T
    both = numpy.array([centre]), edge
    if is_log:
        for points in both:
            points[:, 0] = numpy.exp(points[:, 0])
    return both


def _line(number: int) -> dict[str, Any]:
    """Returns the look of a curve without markers."""
    return {key: value for key, value in look(number).items() if key != "marker"}


def _half_interval(values: list[float]) -> float:
    """Returns half of the 95 % confidence interval of the mean, by Student's t."""
    if len(values) < 2:
        return 0.0
    freedom = len(values) - 1
    t = T_975[freedom - 1] if freedom <= len(T_975) else 1.96 + 2.4 / freedom
    return float(t * numpy.std(values, ddof=1) / math.sqrt(len(values)))


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    help_ = f"\n  help: did you mean `{near[0]}`?" if near else ""
    return f"there is no {what} `{name}`\n  allowed: {', '.join(names)}{help_}"


def _written(drawn: PaperFigure, path: Path) -> PaperFigure:
    if path is not None:
        drawn.savefig(path)
    return drawn


T_975 = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
]
"""97.5 % quantiles of Student's t with 1 to 30 degrees of freedom."""
