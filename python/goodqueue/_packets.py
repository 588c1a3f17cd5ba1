"""The packets of all runs, in files and as tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ._goodqueue import Error

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    import pandas
    import polars
    import pyarrow


class Packets(list[Path]):
    """The files with every packet of the bottleneck, one for each run.

    `to_arrow`, `to_pandas` and `to_polars` read files that end with .parquet or .csv into one table. Its first
    columns are those of `Results.series`: the number of the run, the discipline, swept keys and the seed. With
    `run=3`, only run number 3 is read.
    """

    def __init__(self, files: Iterable[Path], labels: dict[str, list[Any]]) -> None:
        super().__init__(files)
        self._labels = labels

    def to_arrow(self, run: int | None = None) -> pyarrow.Table:
        """Returns a table with a row for each packet. Needs pyarrow."""
        import pyarrow
        from pyarrow import csv, parquet

        # A packet that was sent has no reason.
        converted = csv.ConvertOptions(strings_can_be_null=True)

        def labelled(number: int) -> pyarrow.Table:
            read_csv = partial(csv.read_csv, convert_options=converted)
            table = self._read(number, parquet.read_table, read_csv)
            columns = {name: [value] * len(table) for name, value in self._labels_of(number).items()}
            named = dict(zip(table.column_names, table.columns, strict=True))
            return pyarrow.table({**columns, **named})

        return pyarrow.concat_tables([labelled(number) for number in self._chosen(run)], promote_options="permissive")

    def to_pandas(self, run: int | None = None) -> pandas.DataFrame:
        """Returns a data frame with a row for each packet. Needs pandas, and pyarrow for .parquet."""
        import pandas

        def labelled(number: int) -> pandas.DataFrame:
            frame = self._read(number, pandas.read_parquet, pandas.read_csv)
            for place, (name, value) in enumerate(self._labels_of(number).items()):
                frame.insert(place, name, value)
            return frame

        return pandas.concat([labelled(number) for number in self._chosen(run)], ignore_index=True)

    def to_polars(self, run: int | None = None) -> polars.DataFrame:
        """Returns a data frame with a row for each packet. Needs polars."""
        import polars

        def labelled(number: int) -> polars.DataFrame:
            frame = self._read(number, polars.read_parquet, polars.read_csv)
            labels = [polars.lit(value).alias(name) for name, value in self._labels_of(number).items()]
            return frame.select(*labels, polars.all())

        return polars.concat([labelled(number) for number in self._chosen(run)], how="vertical_relaxed")

    def _chosen(self, run: int | None) -> list[int]:
        if run is None:
            return list(range(len(self)))
        if not 0 <= run < len(self):
            raise Error(f"there is no run {run}\n  allowed: 0 to {len(self) - 1}")
        return [run]

    def _read(self, number: int, parquet: Callable[[Path], Any], csv: Callable[[Path], Any]) -> Any:
        file = self[number]
        end = file.suffix.lower()
        if end not in (".parquet", ".csv"):
            raise Error(
                f"packets in `{file}` are not a table\n  allowed: files that end with .parquet or .csv\n  help: pass "
                "such a name as `packets=` to the runs"
            )
        return (parquet if end == ".parquet" else csv)(file)

    def _labels_of(self, number: int) -> dict[str, Any]:
        return {"run": number, **{name: values[number] for name, values in self._labels.items()}}
