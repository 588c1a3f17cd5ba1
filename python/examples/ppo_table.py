"""The results of `ppo_aqm.py` as text, from the file that it writes."""

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev


def text(measured: Path) -> str:
    """Returns times, mean rewards, and the difference of each row from the best fixed threshold."""
    found = json.loads(measured.read_text(encoding="utf-8"))
    fixed = found["rewards"][found["threshold"]]
    lines = [
        f"{found['search_s']:.0f} s of search for the threshold, {found['learning_s']:.0f} s of learning",
        f"mean reward on {len(fixed)} held-out lines, and difference from the threshold with its 95 % interval:",
    ]
    for name, values in sorted(found["rewards"].items(), key=lambda row: -fmean(row[1])):
        gain = [value - other for value, other in zip(values, fixed, strict=True)]
        half = 1.96 * stdev(gain) / sqrt(len(gain))
        lines.append(f"  {name:34} {fmean(values):.3f}  {fmean(gain):+.3f} ± {half:.3f}")
    return "\n".join(lines)
