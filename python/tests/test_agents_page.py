"""The page of the book about agents: its examples run, and its table is that of the measured scores."""

import json
import os
import re
from pathlib import Path

import pytest

from goodqueue._problem import Panel, Score, table

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "agents.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_page_runs(example: str) -> None:
    exec(compile(example, str(PAGE), "exec"), {})


def test_the_module_of_the_page_has_the_reward_of_its_function() -> None:
    import goodqueue as gq

    (module,) = re.findall(r"```wat\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    problem = gq.Problem("aqm-v1")
    function = problem.train(lambda seen: 0.05 if seen.sojourn > 0.015 else 0.0)
    assert problem.train(module.encode()) == function


def test_the_table_of_the_page_has_the_measured_scores() -> None:
    """`UPDATE=1` writes the table."""
    scores = []
    for line in (DOCS / "measured" / "aqm-v1.jsonl").read_text(encoding="utf-8").splitlines():
        parts = json.loads(line)
        parts.update(training=Panel(**parts["training"]), held_out=Panel(**parts["held_out"]))
        scores.append(Score(json=line, **parts))
    text = "```\n" + table(sorted(scores, key=float, reverse=True)) + "\n```"
    page = PAGE.read_text(encoding="utf-8")
    marks = r"(<!-- table -->\n).*?(<!-- end -->)"
    written = re.sub(marks, lambda found: f"{found[1]}{text}\n{found[2]}", page, count=1, flags=re.DOTALL)
    if os.environ.get("UPDATE") == "1":
        PAGE.write_text(written, encoding="utf-8")
    assert written == PAGE.read_text(encoding="utf-8"), "the table is stale: run this test with UPDATE=1"
