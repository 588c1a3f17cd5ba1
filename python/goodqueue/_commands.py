"""Commands of `goodqueue` that return their results to Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import checked
from ._goodqueue import Error, quantity

if TYPE_CHECKING:
    import pandas

    from ._units import RateLike

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@checked
def replay(
    recordings: Paths, *, qdisc: str | None = None, rate: RateLike | None = None, compare: bool = False
) -> list[dict[str, Any]]:
    """Feeds recorded arrivals to a discipline, packet by packet, as `goodqueue replay` does.

    Returns a dict for each packet that left or was dropped: `recording`, `fate` (`"sent"` or `"dropped"`), `t_s`,
    `packet`, `bytes` and `reason`. With `compare`, returns a dict for each recording instead, which says whether all
    fates equal the recorded ones, and where they first differ.

    `qdisc` and `rate` default to those of the recording.
    """
    import json
    import tempfile

    files = [os.fspath(file) for file in _listed(recordings)]
    bits = None if rate is None else quantity("rate", "rate", rate)[1]
    options = [*_option("--qdisc", qdisc), *_option("--rate", bits)]
    if compare:
        with tempfile.TemporaryDirectory() as folder:
            verdicts = Path(folder) / "replay.json"
            _run(["replay", *options, "--compare", "--json", str(verdicts), *files], may_differ=True)
            compared: list[dict[str, Any]] = json.loads(verdicts.read_text(encoding="utf-8"))
            return compared
    return [fate for file in files for fate in _fates(file, _run(["replay", *options, file]))]


def _fates(file: str, printed: str) -> Iterable[dict[str, Any]]:
    import json

    for line in printed.splitlines():
        event = json.loads(line)
        if isinstance(event, list) and event[0] in ("X", "D"):
            sent = event[0] == "X"
            yield {
                "recording": file,
                "fate": "sent" if sent else "dropped",
                "t_s": event[1] / 1e9,
                "packet": event[2],
                "bytes": event[3] if sent else None,
                "reason": None if sent else event[3],
            }


class Reproduction:
    """The claims of papers, and what goodqueue gets. Printing shows the table of the command."""

    def __init__(self, text: str, verdicts: dict[str, Any]) -> None:
        self._text = text
        self.verdicts = verdicts
        """The JSON of `goodqueue reproduce --json`."""

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Each claim with its verdict."""
        claims: list[dict[str, Any]] = self.verdicts["claims"]
        return claims

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame with a row for each claim. Needs pandas."""
        import pandas

        return pandas.json_normalize(self.claims)

    def __str__(self) -> str:
        return self._text

    def __len__(self) -> int:
        return len(self.claims)


@checked
def reproduce(
    what: str | Iterable[str] = (),
    *,
    all: bool = False,
    full: bool = False,
    papers: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    jobs: int = 0,
) -> Reproduction:
    """Runs the experiments of papers, and checks each claim against the results, as `goodqueue reproduce` does.

    `what` is a paper (`"jk"`), a claim, or several of them. `all` runs every paper instead, which takes an hour or
    more. `full` repeats the experiments of undecided claims more often, with the papers' durations. `papers` is a
    folder of your own papers. `store` is a folder for finished runs, so that the call resumes. `report` is an HTML file
    to write.
    """
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.json"
        text = _run(
            [
                "reproduce", *([what] if isinstance(what, str) else what), "--json", str(verdicts),
                "--out", os.fspath(store or folder), *(["--all"] if all else []), *(["--full"] if full else []),
                *_option("--papers", papers), *_option("--report", report),
                *(_option("--jobs", str(jobs)) if jobs else []),
            ],
            may_differ=True,
        )
        return Reproduction(text, json.loads(verdicts.read_text(encoding="utf-8")))


def _run(arguments: list[str], may_differ: bool = False) -> str:
    """Runs the command, and returns what it prints. Exit code 1 says that something differs."""
    # These modules would take a part of the time of `import goodqueue`.
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "goodqueue", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode not in ((0, 1) if may_differ else (0,)):
        raise Error(done.stderr.strip().removeprefix("error: "))
    return done.stdout


def _option(name: str, value: str | os.PathLike[str] | None) -> list[str]:
    return [] if value is None else [name, os.fspath(value)]


def _listed(given: Paths) -> list[str | os.PathLike[str]]:
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)
