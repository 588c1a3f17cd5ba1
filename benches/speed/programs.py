"""Values of the other benchmarks of this repository."""

from __future__ import annotations

import json
import pathlib
import re
import tempfile

from process import Failed, run


def many_flows() -> dict[str, float]:
    """10,000 flows beside 10 on the same link."""
    rows = {row["simulation"]: row["ns_per_packet"] for row in simulator("many")["runs"]}
    values = {}
    for qdisc in ["codel", "fq_codel"]:
        many, few = (rows[f"{flows} CUBIC, {qdisc}, 10000 Mbit/s, 2 s"] for flows in [10_000, 10])
        values[f"many_{qdisc}_ratio"] = many / few
    return values


def crowd() -> dict[str, float]:
    """100,000 flows: cost beside 10 flows, and memory."""
    measured = simulator("crowd")
    few, many = (row["ns_per_packet"] for row in measured["runs"])
    return {"crowd_ratio": many / few, "crowd_gb": measured["peak_kib"] * 1024 / 1e9}


def simulator(part: str) -> dict:
    return with_json(["--package", "goodqueue-sim", "--bench", "simulator", "--", part])


def agents() -> dict[str, float]:
    """Control steps of the environments."""
    command = ["--package", "goodqueue-agents", "--bench", "steps", "--"]

    def steps(together: int) -> float:
        """Of three runs the fastest, because other programs only slow them down."""
        runs = [with_json([*command, "--together", str(together)]) for _ in range(3)]
        return max(rows[0]["steps_per_cpu_s"] for rows in runs)

    return {"aqm_steps_per_cpu_s": steps(256), "aqm_apart_steps_per_cpu_s": steps(1)}


def with_json(arguments: list[str]):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        run(["cargo", "bench", "--quiet", *arguments, "--json", str(path)])
        return json.loads(path.read_text())


def playground(native: str) -> dict[str, float]:
    """The module in Node.js, and frames in a browser."""
    text = run(["node", "bench.mjs", native], folder="playground").output
    shares = [int(share) / 100 for share in re.findall(r"^\d+ CUBIC, \w+, 10mbit, 60s .* (\d+) %$", text, re.MULTILINE)]
    if len(shares) != 3:
        raise Failed(f"the benchmark of the playground prints other lines than expected:\n{text}")
    values = {"wasm_ratio": min(shares)}
    frames = re.search(r"^100 Mbit/s, 8 flows +\d+ ms +([\d.]+)", text, re.MULTILINE)
    return values | ({"frames_per_s": float(frames.group(1))} if frames else {})


def live() -> dict[str, float]:
    """The live bottleneck beside a plain veth pair."""
    command = ["cargo", "bench", "--quiet", "--package", "goodqueue-live", "--bench", "live", "--", "one TCP flow"]
    text = run(command).output
    ratio = re.search(r"^  bottleneck +[\d.]+ Gbit/s, ([\d.]+) of the first value", text, re.MULTILINE)
    cost = re.search(r"^  bottleneck, pfifo .*; ([\d.]+) us of CPU time per packet", text, re.MULTILINE)
    if not ratio or not cost:
        raise Failed(f"the live path cannot be measured here:\n{text}")
    return {"live_ratio": float(ratio.group(1)), "live_us_per_packet": float(cost.group(1))}
