"""Does PPO learn a better AQM than a fixed threshold, within minutes?

    pip install './python[gym]' stable-baselines3
    python python/examples/ppo_aqm.py [STEPS [FILE.json]]

The agent learns on training lines. It is compared, on held-out lines and by the same rewards, with the
best of 24 fixed thresholds (chosen on training lines), and with tail drop, CoDel, PIE and FQ-CoDel.
The file, docs/measured/ppo.json unless another is named, has the reward of each line.
"""

import json
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import ppo_table
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from goodqueue.gym import AqmVectorEnv, baseline

LINES = 128
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
MEASURED = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parents[2] / "docs/measured/ppo.json"


class Lines(VecEnv):
    """A vector of lines as stable-baselines3 wants it: the next episode begins within the last step."""

    def __init__(self, seed):
        self.lines = AqmVectorEnv(LINES)
        self.first = seed
        super().__init__(LINES, self.lines.single_observation_space, self.lines.single_action_space)

    def reset(self):
        observations, _ = self.lines.reset(seed=self.first)
        return observations

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, _, over, _ = self.lines.step(self.actions)
        infos = [{} for _ in range(LINES)]
        if over.any():
            for info, last in zip(infos, observations, strict=True):
                info.update({"terminal_observation": last, "TimeLimit.truncated": True})
            observations, *_ = self.lines.step(self.actions)
        return observations, rewards.astype(np.float32), over, infos

    def close(self):
        self.lines.close()

    def get_attr(self, name, indices=None):
        return [getattr(self.lines, name, None)] * LINES

    def set_attr(self, name, value, indices=None):
        raise NotImplementedError

    def env_method(self, name, *args, indices=None, **kwargs):
        raise NotImplementedError

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * LINES


def reward(policy, split, count):
    """The mean reward of a policy on each of `count` lines."""
    lines = AqmVectorEnv(count, split=split)
    observations, info = lines.reset(seed=0)
    rewards, over = [], False
    while not over:
        observations, gained, _, truncated, info = lines.step(policy(observations, info))
        rewards.append(gained)
        over = truncated.all()
    return np.mean(rewards, axis=0)


def threshold(sojourn, probability):
    """Marks or drops with a fixed probability while the mean sojourn time is above a threshold."""
    action = np.float32(np.sqrt(probability))
    return lambda _, info: np.where(info["sojourn"] > sojourn, action, 0).astype(np.float32)[:, None]


def main():
    began = time.perf_counter()
    choices = list(product([0.002, 0.005, 0.010, 0.020], [0.002, 0.005, 0.01, 0.02, 0.05, 0.1]))
    best = max(choices, key=lambda choice: reward(threshold(*choice), "training", 16).mean())
    searched = time.perf_counter() - began

    began = time.perf_counter()
    agent = PPO(
        "MlpPolicy", Lines(1_000_000), n_steps=128, batch_size=2048, n_epochs=6, gamma=0.98, gae_lambda=0.9,
        learning_rate=1e-3, policy_kwargs={"net_arch": [32, 32], "log_std_init": -2.0}, seed=1, device="cpu",
    )
    agent.learn(STEPS)
    learned = time.perf_counter() - began

    fixed = reward(threshold(*best), "held_out", 64)
    threshold_name = f"best threshold: {best[1]:.1%} above {1e3 * best[0]:.0f} ms"
    rows = {
        f"PPO, {STEPS:,} steps": reward(lambda seen, _: agent.predict(seen, deterministic=True)[0], "held_out", 64),
        threshold_name: fixed,
    }
    for line in ["fq_codel", "codel ecn", "pie ecn", "pfifo limit 1000"]:
        rows[line] = baseline("goodqueue/AQM-v0", line, seeds=64)
    measured = {
        "search_s": round(searched),
        "learning_s": round(learned),
        "threshold": threshold_name,
        "rewards": {name: [round(float(value), 6) for value in values] for name, values in rows.items()},
    }
    MEASURED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(ppo_table.text(MEASURED))


if __name__ == "__main__":
    main()
