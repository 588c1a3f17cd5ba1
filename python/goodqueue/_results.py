"""Results of runs, as tables and data frames."""

from __future__ import annotations

import os

from . import _goodqueue
from ._goodqueue import Error
from ._table import Table

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    import pandas
    import polars
    import pyarrow

    from ._packets import Packets
    from ._plot import Plot
    from ._report import Report


class Results:
    """Results of all runs of a scenario.

    Printing shows the tables of `goodqueue compare`. A notebook shows the most important metrics;
    `report()` shows everything there.
    """

    def __init__(self, inner: _goodqueue.Results, packets: Sequence[Path] = ()) -> None:
        self._inner = inner
        self._packets = list(packets)
        self._parsed: dict[str, Any] | None = None

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Results:
        """Reads the JSON that `save` or `goodqueue compare --json` wrote."""
        with open(path, encoding="utf-8") as file:
            return Results(_goodqueue.Results.from_json(file.read()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the results as JSON. The file appears completely or not at all."""
        self._inner.write(path, self.to_json())

    def to_json(self) -> str:
        """Returns the results as JSON, in the form of `goodqueue compare --json`."""
        return self._inner.to_json()

    @property
    def _json(self) -> dict[str, Any]:
        import json

        if self._parsed is None:
            self._parsed = dict(json.loads(self.to_json()))
        return self._parsed

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario."""
        scenario: dict[str, Any] = self._json["scenario"]
        return scenario

    @property
    def runs(self) -> list[dict[str, Any]]:
        """All values of each run, in SI units."""
        runs: list[dict[str, Any]] = self._json["runs"]
        return runs

    @property
    def summary(self) -> list[dict[str, Any]]:
        """Means over seeds with 95 % confidence intervals, for each discipline and sweep point."""
        summary: list[dict[str, Any]] = self._json["summary"]
        return summary

    @property
    def table(self) -> Table:
        """The table with a row for each run: swept keys and all metrics, in SI units."""
        return Table(self._inner.table())

    @property
    def series(self) -> Table:
        """The table of all time series, with a row for each sample.

        The runs need time series: `gq.compare(series="200ms")`.
        """
        if not any("series" in run for run in self.runs):
            raise Error("these runs have no time series\n  help: pass `series=\"200ms\"`, or another step, to the runs")
        return Table(self._inner.series())

    @property
    def packets(self) -> Packets:
        """Every packet of the bottleneck, if `packets=` named a file: a list of the files, one for each run.

        `results.packets.to_pandas()`, `.to_polars()` and `.to_arrow()` return them as one table.
        """
        if not self._packets:
            raise Error(
                "the packets of these runs were not written\n  help: pass `packets=\"packets.parquet\"`, or another "
                "name that ends with .csv or .pcapng, to the runs"
            )
        from ._packets import Packets

        labels = {}
        for name, values in self.columns().items():
            labels[name] = values
            if name == "seed":
                break
        return Packets(self._packets, labels)

    @property
    def plot(self) -> Plot:
        """Figures for papers. Needs matplotlib: `pip install matplotlib`."""
        from ._plot import Plot

        return Plot(self)

    def columns(self) -> dict[str, list[Any]]:
        """Returns the table with a row for each run: a list for each column, in SI units."""
        return self.table.columns()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame with a row for each run, in SI units. Needs pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Returns a data frame with a row for each run, in SI units. Needs polars."""
        return self.table.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """Returns a table with a row for each run, in SI units, without a copy. Needs pyarrow."""
        return self.table.to_arrow()

    def report(self, path: str | os.PathLike[str] | None = None, title: str | None = None) -> Report:
        """Returns the interactive report. With `path`, also writes it: one HTML file that loads nothing.

        At the end of a cell, a notebook shows a report that was written as a link to its file, and any
        other report in place. The latter adds some megabytes to the notebook.
        """
        from ._report import Report

        report = Report(self._inner, title)
        if path is not None:
            report.save(path)
        return report

    def export(self, path: str | os.PathLike[str]) -> list[Path]:
        """Writes the results as the end of `path` says: `.csv`, `.parquet`, `.series.csv`, `.flent.gz`.

        Returns the files.
        """
        return self._inner.export(path)

    def __len__(self) -> int:
        return len(self._inner)

    def __str__(self) -> str:
        return self._inner.tables()

    def __repr__(self) -> str:
        return f"<goodqueue.Results of {len(self)} runs>"

    def _repr_html_(self) -> str:
        # The report itself would add megabytes to a notebook for each cell.
        return (
            f"{self._inner.glance()}<p>The interactive report: <code>.report()</code> shows it here, and "
            '<code>.report("report.html")</code> writes it to a file.</p>'
        )
