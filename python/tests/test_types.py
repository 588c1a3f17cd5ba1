"""Types that a user's checker sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
from datetime import timedelta
import goodqueue as gq

results = gq.compare(rate=10e6, up=gq.mbit(1), rtt=timedelta(milliseconds=50), series=0.2, qdiscs=["pfifo"])
reveal_type(results)
reveal_type(results.to_pandas())
reveal_type(results.series.to_pandas())
reveal_type(results.packets.to_pandas())
reveal_type(results.report("r.html"))
reveal_type(gq.mbit(10))
gq.compare(rate=[1])
gq.compare(qdisc="pfifo")
"""
# pandas has no types of its own; those who check have stubs like these.
STUBS = "class DataFrame:\n    def head(self) -> DataFrame: ...\ndef __getattr__(name: str) -> object: ...\n"


def test_data_frames_and_arguments_are_typed(tmp_path: Path) -> None:
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.pyi").write_text(STUBS)
    (tmp_path / "user.py").write_text(CODE)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\nignore_missing_imports = true\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "user.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    lines = [line.partition(": ")[2] for line in checked.stdout.splitlines() if line.startswith("user.py")]
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert revealed == [
        "goodqueue._results.Results", "pandas.DataFrame", "pandas.DataFrame", "pandas.DataFrame",
        "goodqueue._report.Report", "goodqueue._units.Rate",
    ], checked.stdout
    errors = [line for line in lines if line.startswith("error")]
    assert len(errors) == 2 and "rate" in errors[0] and "qdisc" in errors[1], checked.stdout
