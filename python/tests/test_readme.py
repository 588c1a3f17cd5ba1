"""The examples of the package's README, as a newcomer copies them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_readme_runs(example: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(example)
    subprocess.run([sys.executable, file], cwd=tmp_path, check=True)
