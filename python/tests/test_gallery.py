"""The gallery of the book: a notebook that runs, and the page with its code and pictures.

`UPDATE=1 pytest tests/test_gallery.py` writes the page and the pictures anew.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from matplotlib.testing.compare import compare_images

DOCS = Path(__file__).parent.parent.parent / "docs"
NOTEBOOK = DOCS / "gallery.ipynb"


def page(notebook: Any) -> tuple[str, dict[str, bytes]]:
    """Returns an executed notebook as Markdown, and its pictures by their names."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            heading = cell.source.splitlines()[0].lstrip("# ")
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"gallery-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![{heading}](images/{name})")
            elif "text/plain" in data:
                parts.append(f"```\n{data['text/plain']}\n```")
    note = "The code is also a notebook: [gallery.ipynb](gallery.ipynb)."
    return "\n\n".join([parts[0], note, *parts[1:]]) + "\n", pictures


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, bytes]]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("gallery")
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return page(notebook)


def test_the_page_of_the_book_is_that_of_the_notebook(made: tuple[str, dict[str, bytes]]) -> None:
    text, pictures = made
    if os.environ.get("UPDATE"):
        (DOCS / "gallery.md").write_text(text, encoding="utf-8")
        for name, picture in pictures.items():
            (DOCS / "images" / name).write_bytes(picture)
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == text, "run it with UPDATE=1"
    assert {file.name for file in (DOCS / "images").glob("gallery-*")} == set(pictures)


def test_the_pictures_of_the_book_are_those_of_the_notebook(
    made: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    for name, picture in made[1].items():
        (tmp_path / name).write_bytes(picture)
        # One grey level: rounding of another processor may shift the edge of a line.
        difference = compare_images(str(DOCS / "images" / name), str(tmp_path / name), tol=1)
        assert difference is None, f"{difference}\nrun it with UPDATE=1"
