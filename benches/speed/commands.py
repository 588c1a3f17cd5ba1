"""Times of goodqueue's own commands."""

from __future__ import annotations

import json
import statistics
import tempfile

from process import Spent, run

#: Järvinen & Kojo's load of 4+4 flows, with 100 repetitions.
TRANSIENTS = "crates/goodqueue-papers/papers/jk/download.toml"
CODEL = "codel variant cacm2012 limit 100"
SWEEP = 3000


def start(goodqueue: str) -> dict[str, float]:
    """`compare` without arguments."""
    return times("compare", [once([goodqueue, "compare"]) for _ in range(20)])


def advice(goodqueue: str) -> dict[str, float]:
    """`advise` for a slow and a fast line."""
    command = [goodqueue, "advise", "40mbit/10mbit", "--link", "cable"]
    slow = times("advise_40", [once(command) for _ in range(3)])
    command = [goodqueue, "advise", "1000mbit/300mbit", "--link", "fibre"]
    return slow | times("advise_1000", [once(command) for _ in range(3)])


def repetitions(goodqueue: str) -> dict[str, float]:
    """A load of a paper, with files."""
    return times("transients", [transients(goodqueue) for _ in range(20)])


def sweep(goodqueue: str) -> dict[str, float]:
    """Many runs of the default load."""
    command = [goodqueue, "compare", "--qdisc", "codel", "--time", "60s", "--seeds", str(SWEEP)]
    return times("sweep", [once(command)])


def reproduce(goodqueue: str) -> dict[str, float]:
    """All claims of all papers, each with as many repetitions as it takes to decide it."""
    papers = json.loads(run([goodqueue, "list", "papers", "--json", "-"]).output)
    minutes = 0.0
    for paper in (paper["name"] for paper in papers):
        with tempfile.TemporaryDirectory() as folder:
            command = [goodqueue, "reproduce", paper, "--full", "--out", folder]
            # 1: some claims do not reproduce, which is known.
            spent = run(command, fine=(0, 1))
        minutes += spent.wall / 60
        print(f"  {paper}: {spent.wall / 60:.1f} min, {spent.cpu / 60:.1f} min of processors", flush=True)
    return {"reproduce_min": minutes}


def transients(goodqueue: str) -> Spent:
    """All repetitions of the paper's load, in one process."""
    return once([goodqueue, "run", TRANSIENTS, "--qdisc", CODEL])


def once(command: list[str]) -> Spent:
    """Runs a command with an empty folder for its results, where it cannot find those of the run before."""
    with tempfile.TemporaryDirectory() as folder:
        return run([*command, "--out", folder] if "run" in command else command)


def times(name: str, spent: list[Spent]) -> dict[str, float]:
    """The shortest wall time, because other programs only slow it down, and the median of the CPU times."""
    wall = min(one.wall for one in spent)
    return {f"{name}_wall_s": wall, f"{name}_cpu_s": statistics.median(one.cpu for one in spent)}
