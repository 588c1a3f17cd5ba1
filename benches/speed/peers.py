"""The same loads on goodqueue and on other simulators, in turn: python3 benches/speed/peers.py GOODQUEUE"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

from commands import transients
from process import run

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "peers"
#: (flows, Mbit/s, seconds)
FIFO_LOADS = [(4, 10, 100), (100, 100, 10)]
#: A packet of daytone costs more the longer a simulation lasts: 100 s take minutes.
DAYTONE_SECONDS = 10
#: CPU time of a measurement. The time of a single short run varies by some hundredths of a second.
LEAST_S = 0.5
ROUNDS = 3
REPLICATIONS = 100

#: Packets that left the bottleneck, and the seconds of CPU time for them.
Work = tuple[float, float]


def installed(goodqueue: str) -> tuple[dict[str, Callable[..., Work]], dict[str, Callable[[], Work]], list[str]]:
    """Returns a function for each simulator that is here: for downloads, and for a paper's load; and the others."""
    fifo = {
        "goodqueue, TCP of the RFCs": lambda *load: of_goodqueue(goodqueue, "rfc", *load),
        "goodqueue, TCP of Linux": lambda *load: of_goodqueue(goodqueue, "linux", *load),
    }
    repeated: dict[str, Callable[[], Work]] = {"goodqueue": lambda: transients_of_goodqueue(goodqueue)}
    missing = []
    if shutil.which("ns"):
        fifo["ns-2"], repeated["ns-2"] = of_ns2, transients_of_ns2
    else:
        missing.append("ns-2 (Debian: apt install ns2)")
    if subprocess.run([sys.executable, "-c", "from ns import ns"], capture_output=True, check=False).returncode == 0:
        fifo["ns-3"], repeated["ns-3"] = of_ns3, transients_of_ns3
    else:
        missing.append("ns-3 (pip install ns3)")
    if shutil.which("daytone"):
        fifo["daytone"] = of_daytone
    else:
        missing.append("daytone (pip install daytone)")
    return fifo, repeated, missing


def measure(goodqueue: str) -> tuple[list[dict], dict[str, str]]:
    """Returns the values of each load, and the versions of the other simulators."""
    fifo, repeated, missing = installed(goodqueue)
    for name in missing:
        print(f"  not measured, because it is not installed: {name}")
    loads = []
    for flows, mbit, seconds in FIFO_LOADS:
        measured = in_turn({name: (lambda f=work: f(flows, mbit, seconds)) for name, work in fifo.items()})
        loads.append({"flows": flows, "mbit": mbit, "seconds": seconds, "packets_per_cpu_s": rates(measured)})
    measured = in_turn(repeated)
    loads.append({"replications": REPLICATIONS, "cpu_s": {name: [s for _, s in all] for name, all in measured.items()}})
    return loads, versions(fifo)


def in_turn(works: dict[str, Callable[[], Work]]) -> dict[str, list[Work]]:
    """Measures all in each round, because the speed of a busy machine changes."""
    measured: dict[str, list[Work]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            measured[name].append(work())
    for name, all in measured.items():
        print(f"  {name}: {', '.join(f'{packets:.0f} packets in {seconds:.3f} s' for packets, seconds in all)}", flush=True)
    return measured


def rates(measured: dict[str, list[Work]]) -> dict[str, list[int]]:
    return {name: [round(packets / seconds) for packets, seconds in all] for name, all in measured.items()}


def versions(fifo: dict) -> dict[str, str]:
    known = {"ns-3": "ns3", "daytone": "daytone"}
    found = {name: importlib.metadata.version(package) for name, package in known.items() if name in fifo}
    return found | ({"ns-2": "2.35"} if "ns-2" in fifo else {})


def of_goodqueue(goodqueue: str, profile: str, flows: int, mbit: int, seconds: int) -> Work:
    arguments = [str(FOLDER / "fifo.toml"), "--rate", f"{mbit}mbit", "--set", f"flows.0.count={flows}"]
    arguments += ["--set", f"tcp.profile={profile}", "--jobs", "1"]
    return difference(lambda time: goodqueue_run(goodqueue, [*arguments, "--time", f"{time}s"]), seconds)


def goodqueue_run(goodqueue: str, arguments: list[str]) -> Work:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        spent = run([goodqueue, "run", *arguments, "--out", folder, "--json", str(path)])
        runs = json.loads(path.read_text())["runs"]
    return sum(one["bottleneck"]["down"]["packets"]["dequeued"] for one in runs), spent.cpu


def of_ns2(flows: int, mbit: int, seconds: int) -> Work:
    script = ["ns", str(FOLDER / "fifo.tcl"), str(flows), str(mbit)]

    def work(time: int) -> Work:
        # ns-2 prints each command for a congestion controller as well.
        lines = run([*script, str(time), "count"]).output.splitlines()
        packets = next(int(line) for line in lines if line.isdigit())
        return packets, run([*script, str(time)]).cpu

    return difference(work, seconds)


def of_ns3(flows: int, mbit: int, seconds: int) -> Work:
    return printed(run([sys.executable, str(FOLDER / "ns3_loads.py"), "fifo", str(flows), str(mbit), str(seconds)]).output)


def of_daytone(flows: int, mbit: int, seconds: int) -> Work:
    def work(time: int) -> Work:
        with tempfile.TemporaryDirectory() as folder:
            script = [sys.executable, str(FOLDER / "daytone_fifo.py"), str(flows), str(mbit), str(time), folder]
            spent = run(["daytone", run(script).output.strip()])
            with (pathlib.Path(folder) / "sinks.csv").open() as file:
                return sum(int(row["received_packets"]) for row in csv.DictReader(file)), spent.cpu

    return difference(work, min(seconds, DAYTONE_SECONDS))


def difference(work: Callable[[int], Work], seconds: int) -> Work:
    """Runs without their start: the difference to a run of a second, as often as it takes to measure it well."""
    packets, spent = 0.0, 0.0
    while spent < LEAST_S:
        (few, short), (many, long) = work(1), work(seconds)
        packets, spent = packets + many - few, spent + long - short
    return packets, spent


def transients_of_goodqueue(goodqueue: str) -> Work:
    return REPLICATIONS, transients(goodqueue).cpu


def transients_of_ns2() -> Work:
    """A process for each replication: ns-2 has one simulation for each process."""
    script = ["ns", str(FOLDER / "transients.tcl")]
    return REPLICATIONS, sum(run([*script, str(seed + 1)]).cpu for seed in range(REPLICATIONS))


def transients_of_ns3() -> Work:
    spent = run([sys.executable, str(FOLDER / "ns3_loads.py"), "transients", str(REPLICATIONS)])
    _, seconds = printed(spent.output)
    return REPLICATIONS, seconds


def printed(output: str) -> Work:
    packets, seconds = output.split()[-2:]
    return float(packets), float(seconds)


if __name__ == "__main__":
    measure(*sys.argv[1:])
