"""The interactive report of results, in a notebook and as a file."""

from __future__ import annotations

import html
import os
from pathlib import Path
from urllib.parse import quote

from . import _goodqueue


class Report:
    """A report: one HTML page that loads nothing. `str(report)` is the page."""

    def __init__(self, results: _goodqueue.Results, title: str | None = None) -> None:
        self._results = results
        self._title = title
        self.path: Path | None = None
        """The file to which it was written."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file, which appears completely or not at all."""
        self._results.write(path, str(self))
        self.path = Path(path)
        return self.path

    def __str__(self) -> str:
        return self._results.html(self._title)

    def __repr__(self) -> str:
        return f"<goodqueue.Report {self.path or 'not written to a file'}>"

    def _repr_html_(self) -> str:
        if self.path is not None:
            shown = html.escape(str(self.path))
            return f'<p>Report: <a href="{html.escape(_address(self.path))}" target="_blank">{shown}</a></p>'
        page = html.escape(str(self), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="720" frameborder="0"></iframe>'


def _address(path: Path) -> str:
    """Returns the address of a file for a link: relative to the notebook, from which servers reach files."""
    try:
        path = path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        return path.resolve().as_uri()
    return quote(path.as_posix())
