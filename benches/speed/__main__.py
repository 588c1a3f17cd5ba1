"""Measures the values of the book's page about speed, and writes them to `docs/measured/speed.json`:

    python3 benches/speed GOODQUEUE NATIVE [PART...]

GOODQUEUE is the command, and NATIVE the example `native` of goodqueue-wasm. Parts that are named are
measured, without names all: start advice repetitions sweep many_flows crowd agents playground live peers
reproduce.
Other values of the file stay, with their date. `UPDATE=1 cargo test -p goodqueue-cli --test speed` writes
the page.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import commands
import peers
import programs
from process import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "docs/measured/speed.json"


def main(goodqueue: str, native: str, wanted: list[str]) -> None:
    parts = {
        "start": lambda: commands.start(goodqueue),
        "advice": lambda: commands.advice(goodqueue),
        "repetitions": lambda: commands.repetitions(goodqueue),
        "sweep": lambda: commands.sweep(goodqueue),
        "many_flows": programs.many_flows,
        "crowd": programs.crowd,
        "agents": programs.agents,
        "playground": lambda: programs.playground(native),
        "live": programs.live,
        "peers": lambda: peers.measure(goodqueue),
        "reproduce": lambda: commands.reproduce(goodqueue),
    }
    unknown = set(wanted) - set(parts)
    if unknown:
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; the parts are {' '.join(parts)}")
    for name in wanted or parts:
        print(f"{name} ...", flush=True)
        measure(name, parts[name])


def measure(name: str, part) -> None:
    """Measures a part and writes its values into the file. A part that is not possible here leaves its reason."""
    try:
        measured, failure = part(), None
    except Failed as failed:
        measured, failure = None, str(failed)
        print(f"  not measured: {failed}")
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    # Values of another machine cannot stand beside those of this one.
    file = kept if kept.get("machine") == machine() else {"machine": machine(), "values": {}, "failed": {}}
    file["versions"] = file.get("versions", {}) | versions()
    file["failed"].pop(name, None)
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    if failure is not None:
        file["failed"][name] = failure.splitlines()[0]
    elif name == "peers":
        loads, others = measured
        file["peers"] = {"date": date, "profile": profile(), "loads": loads}
        file["versions"] |= others
    else:
        load = round(os.getloadavg()[1], 1)
        for key, value in measured.items():
            print(f"  {key} = {value:.4g}", flush=True)
            file["values"][key] = {
                "value": float(f"{value:.4g}"), "date": date, "load": load, "profile": profile(),
            }
    FILE.write_text(json.dumps(file, indent=2, ensure_ascii=False) + "\n")


def machine() -> str:
    """The class of this machine, without its name."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{processor}, {os.cpu_count()} threads, {memory:.0f} GiB"


def versions() -> dict[str, str]:
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return {"rustc": compiler.split()[1]}


def profile() -> str:
    """How programs are compiled, with the settings that the environment changes."""
    settings = [
        f"{key.rsplit('_', 1)[1].lower()}={value}"
        for key, value in os.environ.items()
        if key.startswith("CARGO_PROFILE_RELEASE_")
    ]
    return " ".join(["release", *sorted(settings)])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
