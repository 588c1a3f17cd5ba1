"""The scored problem, with policies good and bad."""

import json
from pathlib import Path

import pytest

import goodqueue as gq

THRESHOLD = b"""(module (func (export "decide")
    (param $backlog f64) (param $sojourn f64) (param f64 f64 f64 f64 f64 f64 f64) (result f64)
    (select (f64.const 0.05) (f64.const 0) (f64.gt (local.get $sojourn) (f64.const 0.015)))))"""

MEASURED = Path(__file__).parents[2] / "docs" / "measured" / "aqm-v1.jsonl"


def threshold(seen: gq.Interval) -> float:
    return 0.05 if seen.sojourn > 0.015 else 0.0


@pytest.fixture(scope="module")
def problem() -> gq.Problem:
    return gq.Problem("aqm-v1")


def test_a_discipline_has_the_bytes_that_every_machine_computes(problem: gq.Problem) -> None:
    committed = MEASURED.read_text(encoding="utf-8").splitlines()
    score = problem.score("codel ecn")
    assert score.json in committed
    assert float(score) == score.held_out.reward == json.loads(score.json)["score"]
    assert (len(score.training.lines), len(score.held_out.lines)) == (8, 16)
    assert "codel ecn" in str(score)


def test_a_function_a_module_and_a_path_have_the_same_result(problem: gq.Problem, tmp_path: Path) -> None:
    path = tmp_path / "threshold.wat"
    path.write_bytes(THRESHOLD)
    panels = [problem.train(policy) for policy in (threshold, THRESHOLD, path, str(path))]
    assert all(panel == panels[0] for panel in panels)


def test_a_policy_with_a_state_is_reset_before_each_line(problem: gq.Problem) -> None:
    class Counting:
        resets = 0

        def reset(self) -> None:
            self.resets += 1

        def __call__(self, seen: gq.Interval) -> float:
            return 0.01

    policy = Counting()
    problem.train(policy)
    assert policy.resets == 8


def test_an_exception_of_a_policy_is_the_cause_of_one_error_with_line_and_time(problem: gq.Problem) -> None:
    def divides(seen: gq.Interval) -> float:
        return 1 / (seen.dropped - seen.dropped)

    with pytest.raises(gq.Error, match="training line 0: at 0.015 s: the policy raised ZeroDivisionError") as error:
        problem.train(divides)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_ctrl_c_in_a_policy_stays_ctrl_c(problem: gq.Problem) -> None:
    def interrupted(seen: gq.Interval) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        problem.train(interrupted)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda seen: float("nan"), "returned NaN\n  allowed: a probability from 0 to 1"),
        (lambda seen: -0.1, "returned -0.1"),
        (lambda seen: 1.01, "returned 1.01"),
        (lambda seen: [0.1, 0.2], r"returned \[0.1, 0.2\] of type <class 'list'>\n  allowed: one number"),
        (lambda seen: None, "returned None"),
        (lambda: 0.0, "raised TypeError"),
        (lambda seen: seen.sojurn, "raised AttributeError"),
        (42, "policy of type <class 'int'>"),
        ("codel targt 5ms", "did you mean `target`"),
        ("missing.wasm", "missing.wasm` cannot be read"),
        (b"hello", "no WebAssembly module"),
        (b"(module)", "does not export `decide`"),
        (THRESHOLD.replace(b"(select", b"(loop (br 0)) (select"), "out of fuel"),
        (b"(module (memory 17)" + THRESHOLD[7:], "too much memory"),
    ],
)
def test_a_bad_policy_is_one_error_with_place_and_remedy(
    problem: gq.Problem, policy: object, message: str
) -> None:
    with pytest.raises(gq.Error, match=message):
        problem.train(policy)  # type: ignore[arg-type]


def test_an_unknown_problem_is_refused_with_the_known_ones() -> None:
    with pytest.raises(gq.Error, match="aqm-v1"):
        gq.Problem("aqm-v0")
