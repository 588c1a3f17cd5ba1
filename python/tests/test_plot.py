"""Figures, and what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy
import pytest

import goodqueue as gq

matplotlib.use("agg")


@pytest.fixture(scope="module")
def results() -> gq.Results:
    return gq.compare(qdiscs=["pfifo limit 127", "fq_codel"], time="4s", seeds=3, series="200ms")


@pytest.fixture(scope="module")
def swept() -> gq.Results:
    return gq.sweep(gq.Scenario().set("duration", "2s"), {"link.rtt": ["10ms", "40ms"], "qdisc": ["pie", "codel"]}, seeds=3)


def curve(figure: Any, label: str) -> tuple[Any, Any]:
    (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == label]
    return line.get_data()


def test_a_distribution_has_all_pings_and_ends_at_the_share_of_answered_ones(results: gq.Results) -> None:
    x, y = curve(results.plot.cdf("ping"), "fq_codel")
    pings = [value for run in results.runs if run["qdisc"] == "fq_codel" for _, value in run["series"]["pings"]]
    answered = sorted(value * 1e3 for value in pings if value is not None)
    assert x == pytest.approx(answered)
    assert y[-1] == pytest.approx(len(answered) / len(pings))


def test_a_timeline_has_the_means_over_the_seeds(results: gq.Results) -> None:
    _, y = curve(results.plot.timeline("queue", direction="up"), "pfifo limit 127")
    runs = [run["series"]["queues"]["up"]["queue_packets"] for run in results.runs if run["qdisc"] != "fq_codel"]
    assert y == pytest.approx(numpy.mean(runs, axis=0))
    assert len(results.plot.timeline("ping", "goodput", "drops").axes) == 3


def test_goodput_is_the_sum_of_the_flows(results: gq.Results) -> None:
    figure = results.plot.timeline("goodput")
    _, y = curve(figure, "fq_codel")
    assert 5 < y[-5:].mean() < 10.5, "Mbit/s of four flows on a line of 10 Mbit/s"


def test_an_ellipse_is_one_standard_deviation_around_the_mean(results: gq.Results) -> None:
    figure = results.plot.ellipses(y="goodput.up", log=False)
    frame = results.to_pandas().query("qdisc == 'fq_codel'")
    x, y = frame["induced_latency_s.mean"] * 1e3, frame["goodput.up"] / 1e6
    ([centre_x], [centre_y]) = curve(figure, "fq_codel")
    assert (centre_x, centre_y) == pytest.approx((x.mean(), y.mean()))
    edges = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) > 100]
    edge = edges[1].get_xdata()
    # The ellipse is as wide as one standard deviation to each side.
    assert edge.max() - x.mean() == pytest.approx(x.std(), rel=1e-3)


def test_a_sweep_has_the_means_and_intervals_of_the_tables(swept: gq.Results) -> None:
    figure = swept.plot.sweep(x="link.rtt", y="goodput.down")
    (means, *_) = [container for container in figure.axes[0].containers if container.get_label() == "codel"]
    of_codel = [entry for entry in swept.summary if entry["qdisc"] == "codel"]
    figures = [entry["figures"]["goodput.down"] for entry in of_codel]
    assert list(means[0].get_xdata()) == [10, 40]
    assert list(means[0].get_ydata()) == pytest.approx([value["mean"] / 1e6 for value in figures])
    bars = [segment[1][1] - segment[0][1] for segment in means[2][0].get_segments()]
    assert bars == pytest.approx([2 * value["ci95"] / 1e6 for value in figures], rel=1e-3)


def test_each_figure_states_the_link_the_traffic_and_the_seeds(results: gq.Results, swept: gq.Results) -> None:
    for figure in (results.plot.cdf(), results.plot.timeline(), results.plot.ellipses(), swept.plot.sweep(x="link.rtt")):
        text = " ".join(figure._supxlabel.get_text().split())
        assert "10mbit down, 1mbit up" in text and "4 x tcp cubic down" in text and "3 seeds" in text


def test_the_figure_of_a_sweep_names_the_values_of_its_axis_and_not_one_of_them(swept: gq.Results) -> None:
    text = " ".join(swept.plot.sweep(x="link.rtt")._supxlabel.get_text().split())
    assert "base RTT varied" in text and "link.rtt: 10ms, 40ms" in text
    assert "base RTT 10ms" not in text


def test_files_are_vectors_with_embedded_fonts_and_the_same_bytes_again(results: gq.Results, tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf", "a.svg", "b.svg"):
        results.plot.cdf(path=tmp_path / name)
    pdf, svg = (tmp_path / "a.pdf").read_bytes(), (tmp_path / "a.svg").read_text()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert "<text" not in svg and "<image" not in svg
    assert pdf == (tmp_path / "b.pdf").read_bytes()
    assert svg == (tmp_path / "b.svg").read_text()


def test_figures_have_the_widths_of_columns_and_curves_differ_without_colour(results: gq.Results) -> None:
    assert results.plot.cdf().get_figwidth() == 3.5
    assert results.plot.cdf(column="double").get_figwidth() == 7.16
    styles = {str(line.get_linestyle()) for line in results.plot.cdf().axes[0].get_lines()}
    assert len(styles) == 2


def test_settings_of_the_caller_do_not_change_a_figure(results: gq.Results, tmp_path: Path) -> None:
    results.plot.cdf(path=tmp_path / "a.svg")
    with matplotlib.rc_context({"font.size": 20, "axes.grid": False, "svg.fonttype": "none"}):
        results.plot.cdf(path=tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_notebook_shows_a_figure(results: gq.Results) -> None:
    assert results.plot.cdf()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("draw", "parts"),
    [
        (lambda plot: plot.cdf("pong"), ["no time series `pong`", "did you mean `ping`", "allowed: "]),
        (lambda plot: plot.cdf("queue", direction="left"), ["no direction `left`", "allowed: down, up"]),
        (lambda plot: plot.cdf(column="wide"), ["`wide` is no width", "allowed: single, double"]),
        (lambda plot: plot.cdf(at={"link.rtt": 0.02}), ["no run has link.rtt = 0.02", "allowed: "]),
        (lambda plot: plot.sweep(x="link.rt"), ["no column `link.rt`"]),
        (lambda plot: plot.ellipses(y="goodput.dwn"), ["did you mean `goodput.down`"]),
    ],
)
def test_bad_input_names_the_allowed_values(results: gq.Results, draw: Any, parts: list[str]) -> None:
    with pytest.raises(gq.Error) as raised:
        draw(results.plot)
    for part in parts:
        assert part in str(raised.value)


def test_missing_series_seeds_and_points_are_errors_with_their_remedy(swept: gq.Results) -> None:
    with pytest.raises(gq.Error, match='pass `series="200ms"`'):
        swept.plot.cdf()
    with pytest.raises(gq.Error, match="choose one with `at="):
        swept.plot.ellipses()
    assert swept.plot.ellipses(at={"link.rtt": 0.01}).axes
    single = gq.compare(qdiscs=["pie"], time="1s")
    with pytest.raises(gq.Error, match="an ellipse needs three"):
        single.plot.ellipses()
    with pytest.raises(gq.Error, match="the packets of these runs were not written"):
        _ = single.packets


def test_packets_are_files_for_data_frames(tmp_path: Path) -> None:
    import polars

    results = gq.compare(qdiscs=["pie", "codel"], time="1s", packets=tmp_path / "packets.parquet")
    frames = [polars.read_parquet(file) for file in results.packets]
    assert len(frames) == 2
    assert {"packet", "direction", "sojourn_ns", "fate"} <= set(frames[0].columns)
