"""Environments for learning agents."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import goodqueue as gq
import goodqueue.gym
from goodqueue.gym import AqmVectorEnv, CongestionControlVectorEnv

IDS = ["goodqueue/AQM-v0", "goodqueue/CongestionControl-v0"]


@pytest.mark.parametrize("id", IDS)
@pytest.mark.filterwarnings("error")
def test_the_environments_pass_the_checks_of_gymnasium(id: str) -> None:
    env = gymnasium.make(id, duration="1s")
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("id", IDS)
def test_an_episode_ends_when_its_time_is_up(id: str) -> None:
    env = gymnasium.make(id, duration="600ms", interval="60ms")
    env.reset(seed=3)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(10)]
    assert ends == [(False, False)] * 9 + [(False, True)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_vector_of_lines_has_the_numbers_of_its_single_lines(threads: int) -> None:
    lines = AqmVectorEnv(6, threads=threads, duration="300ms")
    observations, _ = lines.reset(seed=10)
    steps = [lines.step(np.full((6, 1), 0.2, np.float32)) for _ in range(20)]
    assert [bool(step[3].all()) for step in steps] == [False] * 19 + [True]
    for number in range(6):
        single = gymnasium.make("goodqueue/AQM-v0", duration="300ms")
        seen, _ = single.reset(seed=10 + number)
        assert (seen == observations[number]).all()
        for step in steps:
            seen, reward, _, _, info = single.step(np.array([0.2], np.float32))
            assert (seen == step[0][number]).all() and reward == step[1][number]
            assert info["sojourn"] == step[4]["sojourn"][number]
    after = lines.step(np.full((6, 1), 0.2, np.float32))
    assert (after[1] == 0).all() and not after[3].any(), "the step after the end begins the next episode"


def test_training_and_held_out_lines_differ_and_both_repeat() -> None:
    def seen(split: str) -> bytes:
        lines = AqmVectorEnv(4, split=split, duration="3s")
        lines.reset(seed=0)
        return b"".join(lines.step(np.zeros((4, 1), np.float32))[0].tobytes() for _ in range(80))

    assert seen("training") == seen("training")
    assert seen("training") != seen("held_out")


def test_a_higher_probability_means_a_shorter_queue_and_more_marks_or_drops() -> None:
    def means(action: float) -> tuple[float, float]:
        lines = AqmVectorEnv(8, rate="10mbit", rtt="40ms", flows=4, duration="5s")
        lines.reset(seed=0)
        infos = [lines.step(np.full((8, 1), action, np.float32))[4] for _ in range(300)]
        signals = np.mean([info["dropped"] + info["marked"] for info in infos[100:]])
        return float(np.mean([info["sojourn"] for info in infos[100:]])), float(signals)

    (long, few), (short, many) = means(0.05), means(0.4)
    assert short < long / 2 and many > 2 * few


def test_the_target_of_codel_is_an_action() -> None:
    env = gymnasium.make("goodqueue/AQM-v0", control="target", duration="1s")
    env.reset(seed=0)
    targets = [env.step(np.array([action], np.float32))[4]["setting"] for action in (0.0, 0.5, 1.0)]
    assert targets == pytest.approx([0.001, 0.02575, 0.1])


def test_the_window_of_an_agent_fills_the_line_or_not() -> None:
    def utilization(action: float) -> float:
        lines = CongestionControlVectorEnv(4, rate="10mbit", rtt="40ms", cross=0.0, duration="10s")
        lines.reset(seed=0)
        for _ in range(2):
            lines.step(np.full((4, 1), action, np.float32))
        infos = [lines.step(np.zeros((4, 1), np.float32))[4] for _ in range(40)]
        return float(np.mean([info["rate"] for info in infos[20:]])) / 10e6

    assert 0.05 < utilization(-1.0) < 0.15
    assert utilization(1.0) > 0.85


def test_the_pacing_rate_of_an_agent_is_its_rate() -> None:
    env = gymnasium.make(
        "goodqueue/CongestionControl-v0", control="rate", rate="10mbit", cross=0.0, duration="10s"
    )
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.array([1.0], np.float32))
    infos = [env.step(np.array([0.0], np.float32))[4] for _ in range(60)]
    assert np.mean([info["rate"] for info in infos[20:]]) == pytest.approx(4e6, rel=0.1)


def test_baselines_are_scored_with_the_rewards_of_agents() -> None:
    def mean(id: str, policy: str) -> float:
        return float(goodqueue.gym.baseline(id, policy, seeds=6, duration="6s").mean())

    aqm = {line: mean(IDS[0], line) for line in ["pfifo limit 1000", "codel ecn", "pie ecn"]}
    assert aqm["codel ecn"] > aqm["pfifo limit 1000"] and aqm["pie ecn"] > aqm["pfifo limit 1000"]
    assert all(0 < mean(IDS[1], name) < 1 for name in ["cubic", "bbr"])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.array([np.nan], np.float32), "line 0: an action of NaN"),
        (np.array([1.5], np.float32), "allowed: 0 to 1"),
        (np.array([0.1, 0.2], np.float32), r"shape \(2,\)"),
        (np.float32(0.1), r"shape \(\)"),
        ("half", "no array of numbers"),
    ],
)
def test_a_bad_action_is_one_error_with_the_remedy(action: object, message: str) -> None:
    env = gymnasium.make("goodqueue/AQM-v0", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(gq.Error, match=message):
        env.step(action)
    env.step(np.array([0.1], np.float32))


def test_a_bad_action_of_one_line_names_the_line_and_changes_nothing() -> None:
    lines = [AqmVectorEnv(4, duration="1s") for _ in range(2)]
    for line in lines:
        line.reset(seed=0)
    actions = np.full((4, 1), 0.1, np.float32)
    bad = actions.copy()
    bad[2] = -0.5
    with pytest.raises(gq.Error, match="line 2: an action of -0.5 is not possible"):
        lines[0].step(bad)
    assert (lines[0].step(actions)[0] == lines[1].step(actions)[0]).all()
    with pytest.raises(gq.Error, match=r"shape \(3, 1\) is not possible"):
        lines[0].step(actions[:3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": "10mbti"}, "rate"),
        ({"rate": ("64mbit", "2mbit")}, "the lower bound first"),
        ({"rtt": "0ms"}, "1ms to 10s"),
        ({"flows": (0, 2)}, "1 to 1000"),
        ({"ecn": float("nan")}, "0 to 1"),
        ({"control": "propability"}, "did you mean `probability`"),
        ({"split": "test"}, "training, held_out"),
        ({"qdisc": "codel targt 5ms"}, "did you mean `target`"),
        ({"interval": "0ms"}, "1ms to 10s"),
        ({"duration": "1ms"}, "one interval"),
    ],
)
def test_bad_settings_are_refused_at_once(settings: dict[str, object], message: str) -> None:
    with pytest.raises(gq.Error, match=message):
        AqmVectorEnv(2, **settings)


def test_bad_settings_of_a_congestion_control_are_refused_at_once() -> None:
    for settings, message in [
        ({"buffer": 0.0}, "above 0 to 100"),
        ({"cross": 1.0}, "0 to 0.95"),
        ({"congestion_control": "cubik"}, "did you mean `cubic`"),
        ({"control": "windows"}, "did you mean `window`"),
    ]:
        with pytest.raises(gq.Error, match=message):
            CongestionControlVectorEnv(2, **settings)
    with pytest.raises(gq.Error, match="allowed: goodqueue/AQM-v0"):
        goodqueue.gym.baseline("goodqueue/AQM-v1", "codel")


def test_seeds_that_do_not_fit_the_lines_are_refused() -> None:
    lines = AqmVectorEnv(3, duration="1s")
    with pytest.raises(gq.Error, match="2 seeds are given"):
        lines.reset(seed=[1, 2])
    with pytest.raises(gq.Error, match="0 lines are not possible"):
        AqmVectorEnv(0)
