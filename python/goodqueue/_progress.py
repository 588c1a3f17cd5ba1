"""A progress bar for terminals and notebooks.

A notebook keeps what a cell prints, so a bar there is one output that changes in place, never a line for
each step. tqdm draws the bar if it is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

# Called with the number of finished runs and of all runs.
Progress = Callable[[int, int], object]

WIDTH = 30


@contextmanager
def bar() -> Iterator[Progress]:
    """Shows a bar until the context ends."""
    in_notebook = _in_notebook()
    # Without ipywidgets tqdm prints a line for each step, with a warning.
    if find_spec("tqdm") and (not in_notebook or find_spec("ipywidgets")):
        yield from _tqdm()
    elif in_notebook:
        yield from _notebook()
    else:
        yield from _terminal()


def _tqdm() -> Iterator[Progress]:
    from tqdm.auto import tqdm

    # Files and pipes get nothing, like tables of results.
    shown: Any = tqdm(unit="run", disable=None if not _in_notebook() else False)

    def show(finished: int, runs: int) -> None:
        if shown.total != runs:
            shown.reset(total=runs)
        shown.update(finished - shown.n)

    with shown:
        yield show


def _notebook() -> Iterator[Progress]:
    from IPython.display import HTML, display

    handle: Any = None
    last = ""

    def show(finished: int, runs: int) -> None:
        nonlocal handle, last
        text = f"{finished} of {runs} runs"
        if text == last:
            return
        last = text
        page = HTML(f'<progress value="{finished}" max="{max(runs, 1)}"></progress> {text}')
        if handle is None:
            handle = display(page, display_id=True)
        else:
            handle.update(page)

    yield show


def _terminal() -> Iterator[Progress]:
    shown = ""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(finished: int, runs: int) -> None:
        nonlocal shown
        full = WIDTH * finished // max(runs, 1)
        text = f"\r{'█' * full}{'░' * (WIDTH - full)} {finished} of {runs} runs"
        if is_terminal and text != shown:
            shown = text
            print(text, end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if shown:
            print(file=sys.stderr)


def _in_notebook() -> bool:
    """True in a kernel of Jupyter, which has frontends that show rich outputs."""
    if "IPython" not in sys.modules:
        return False
    get: Callable[[], Any] = sys.modules["IPython"].get_ipython
    shell = get()
    return shell is not None and getattr(shell, "kernel", None) is not None
