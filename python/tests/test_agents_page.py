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


def written(mark: str, text: str) -> None:
    """Checks the text between two marks of the page. `UPDATE=1` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    marks = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
    fresh = re.sub(marks, lambda found: f"{found[1]}```\n{text}\n```\n{found[2]}", page, count=1, flags=re.DOTALL)
    if os.environ.get("UPDATE") == "1":
        PAGE.write_text(fresh, encoding="utf-8")
    assert fresh == PAGE.read_text(encoding="utf-8"), f"the block `{mark}` is stale: run this test with UPDATE=1"


def test_the_page_shows_what_the_ppo_example_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    import ppo_table

    written("ppo", ppo_table.text(DOCS / "measured" / "ppo.json"))


def test_the_table_of_the_page_has_the_measured_scores() -> None:
    scores = []
    for line in (DOCS / "measured" / "aqm-v1.jsonl").read_text(encoding="utf-8").splitlines():
        parts = json.loads(line)
        parts.update(training=Panel(**parts["training"]), held_out=Panel(**parts["held_out"]))
        scores.append(Score(json=line, **parts))
    written("table", table(sorted(scores, key=float, reverse=True)))
