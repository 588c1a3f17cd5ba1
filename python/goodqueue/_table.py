"""Tables for data frames."""

from __future__ import annotations

from . import _goodqueue

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pandas
    import polars
    import pyarrow


class Table:
    """A table of columns in SI units.

    It has Arrow's C interface, so pyarrow, polars, pandas 3 and DuckDB read it without a copy.
    """

    def __init__(self, inner: _goodqueue.Table) -> None:
        self._inner = inner

    def columns(self) -> dict[str, list[Any]]:
        """Returns a list for each column."""
        return self._inner.columns()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame. Needs pandas."""
        # Optional packages are imported where they are used: `import goodqueue` stays fast.
        import pandas

        return pandas.DataFrame(self.columns())

    def to_polars(self) -> polars.DataFrame:
        """Returns a data frame over the same memory. Needs polars."""
        import polars

        return polars.DataFrame(self._inner)

    def to_arrow(self) -> pyarrow.Table:
        """Returns a table over the same memory. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self._inner)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._inner)
