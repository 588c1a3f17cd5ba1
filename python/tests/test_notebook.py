"""What a notebook keeps: small outputs, a report on request, and no lines of progress."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import goodqueue as gq


@pytest.fixture(scope="module")
def results() -> gq.Results:
    return gq.compare(qdiscs=["pfifo", "fq_codel"], time="4s", seeds=2, series="200ms")


class Texts(HTMLParser):
    """The texts of a page outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_result_is_a_small_table_and_a_figure(results: gq.Results) -> None:
    page = results._repr_html_()
    assert len(page) < 20_000, "the report has megabytes"
    shown = Texts(page)
    assert {"table", "svg"} <= shown.tags and not {"script", "iframe", "style"} & shown.tags
    assert {"pfifo", "fq_codel"} <= set(shown.texts)
    assert '.report("report.html")' in "".join(shown.texts)


def test_a_large_sweep_stays_small() -> None:
    rtts = [f"{number}ms" for number in range(1, 101)]
    scenario = gq.Scenario().set("duration", "100ms").set("qdiscs", ["pfifo", "fq_codel"])
    page = gq.sweep(scenario, {"link.rtt": rtts}, seeds=1)._repr_html_()
    assert len(page) < 50_000
    assert "40 of 200 rows are shown" in page


def test_the_report_is_shown_on_request(results: gq.Results) -> None:
    page = results.report(title="All & more")._repr_html_()
    assert page.startswith("<iframe") and "&lt;!doctype html&gt;" in page
    assert "All &amp;amp;amp; more" in page or "All &amp;amp; more" in page


def test_a_report_in_a_file_is_shown_as_a_link(
    results: gq.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = results.report("my <report>.html")
    assert report.path is not None and report.path.read_text().startswith("<!doctype html>")
    page = report._repr_html_()
    assert 'href="my%20%3Creport%3E.html"' in page and "my &lt;report&gt;.html</a>" in page
    assert len(page) < 500
    elsewhere = tmp_path.parent / f"{tmp_path.name}.html"
    assert f'href="{elsewhere.as_uri()}"' in results.report(elsewhere)._repr_html_()


def executed(code: str, folder: Path, environment: dict[str, str]) -> list[Any]:
    """Returns the outputs of a cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    outputs: list[Any] = notebook.cells[0].outputs
    return outputs


SEVERAL = 'import goodqueue as gq\nr = gq.sweep(None, {"duration": ["100ms"]}, seeds=40, jobs=1, progress=True)'


def test_an_executed_notebook_keeps_one_bar_and_no_red_lines(tmp_path: Path) -> None:
    outputs = executed(SEVERAL, tmp_path, {})
    assert [output for output in outputs if output.output_type == "stream"] == []
    assert len(outputs) == 1
    assert re.search("280 of 280 runs|goodqueue|widget", json.dumps(outputs[0].data))


def test_without_tqdm_the_bar_is_one_output_as_well(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['tqdm'] = None\nimport importlib.util as u; f = u.find_spec\n"
    hidden += "u.find_spec = lambda name, *more: None if name == 'tqdm' else f(name, *more)\n"
    [only] = executed(hidden + SEVERAL, tmp_path, {})
    assert "280 of 280 runs" in only.data["text/html"]


@pytest.mark.parametrize("hide", ["", "import importlib.util as u; u.find_spec = lambda *_: None; "])
def test_a_pipe_gets_no_bar(hide: str) -> None:
    code = f"{hide}import goodqueue as gq; gq.compare(time='100ms', qdiscs=['pfifo'], progress=True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_bar_of_tqdm_ends_with_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm.auto

    from goodqueue import _progress

    made: list[Any] = []

    class Recorded(tqdm.auto.tqdm):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **{**named, "disable": False, "file": open(os.devnull, "w")})  # noqa: SIM115 (as long as the bar)
            made.append(self)

    monkeypatch.setattr(tqdm.auto, "tqdm", Recorded)
    with _progress.bar() as show:
        for finished in range(4):
            show(finished, 3)
    assert (made[0].n, made[0].total) == (3, 3)
