"""The form of figures: sizes, fonts and colours for papers."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ._goodqueue import Error

WIDTHS = {"single": 3.5, "double": 7.16}
"""Widths in inches of one column and of both columns of a page (IEEE)."""

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008), without the yellow, which is faint on paper."""

LINES: list[Any] = [
    "-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)),
]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]

STYLE = {
    "font.size": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d9d9d9",
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "savefig.dpi": 300,
    # Text stays text in a PDF: TrueType instead of outlines of Type 3, which publishers refuse.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # Outlines in an SVG look the same everywhere.
    "svg.fonttype": "path",
    # The same figure has the same bytes.
    "svg.hashsalt": "goodqueue",
}


def style() -> AbstractContextManager[None]:
    """Draws in the style of the package, whatever the settings of the caller are."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": matplotlib.rcParams["backend"], **STYLE})


class PaperFigure(Figure):
    """A figure that keeps its form when it is saved. Notebooks show it."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Writes the figure. The end of the name selects the format: `.pdf`, `.svg`, `.png` and others."""
        end = os.path.splitext(str(fname))[1].lower().lstrip(".") if isinstance(fname, (str, os.PathLike)) else ""
        # Without the time of writing, the same figure has the same bytes.
        dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
        options.setdefault("metadata", dates.get(options.get("format", end)))
        with style():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=200)
        return png.getvalue()


def figure(column: str, panels: int = 1, caption: str = "") -> tuple[PaperFigure, list[Axes]]:
    """Returns an empty figure with panels below each other. The caption is below them."""
    if column not in WIDTHS:
        raise Error(f"`{column}` is no width of a figure\n  allowed: {', '.join(WIDTHS)}")
    width = WIDTHS[column]
    # Letters of 5.5 points are about 3.1 points wide.
    lines = textwrap.wrap(caption, int(width * 72 / 3.1))
    share = {"single": 0.62, "double": 0.38} if panels == 1 else {"single": 0.45, "double": 0.26}
    height = panels * width * share[column] + 0.09 * len(lines) + 0.3
    new = PaperFigure(figsize=(width, height), layout="constrained")
    axes = list(new.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    if lines:
        new.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=5.5, color="#555555")
    return new, axes


def look(number: int) -> dict[str, Any]:
    """Returns colour, line and marker of the curve of this number. Lines differ in print without colour, too."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def legend(of: PaperFigure, axes: Axes) -> None:
    """Names the curves above the panels, outside of the data."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) < 2:
        return
    width = of.get_size_inches()[0]
    # An entry takes its text and the sample of the line.
    longest = max(len(label) for label in labels) * 0.05 + 0.42
    lines = math.ceil(len(labels) / max(1, int(width / longest)))
    columns = math.ceil(len(labels) / lines)
    of.legend(handles, labels, loc="outside upper center", ncols=columns, columnspacing=1.0, handletextpad=0.5)


def spans(values: Sequence[float]) -> bool:
    """Returns true if a linear axis would hide the small ones of these values."""
    return bool(len(values) > 0 and min(values) > 0 and max(values) / min(values) >= 20)


def logarithmic(axis: Axis) -> None:
    """Makes an axis logarithmic, with plain numbers."""
    set_scale = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    set_scale("log")
    axis.axes.autoscale_view()
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    low, high = sorted(axis.get_view_interval())
    if high / low < 500:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
