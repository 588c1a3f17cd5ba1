"""What does overfitting look like, and how do held-out lines reveal it?

    python python/examples/overfitting.py            # some minutes
    python python/examples/overfitting.py --write    # and puts the numbers into docs/agents.md

Hill climbing changes the parameters of a policy at random and keeps each change that raises its reward
on the eight training lines. It does so for a law with three parameters, and for a table with a
probability for each of 4,096 states, in which a rate tells the training lines apart.
"""

import random
import re
import sys
from pathlib import Path

import goodqueue as gq

TRIALS = 300
PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
PROBLEM = gq.Problem("aqm-v1")


class Law:
    """Moves the probability by the sojourn time above a target, and by its change."""

    name = "law with 3 parameters"
    start = (0.010, 0.5, 2.0)

    def __init__(self, parameters):
        self.parameters = parameters

    def changed(self, chance):
        return [value * 2 ** chance.gauss(0, 0.5) for value in self.parameters]

    def reset(self):
        self.last = 0.0

    def __call__(self, seen):
        target, gain, damping = self.parameters
        moved = 0.01 * (gain * (seen.sojourn - target) + damping * (seen.sojourn - self.last))
        self.last = seen.sojourn
        return min(max(seen.setting + moved, 0.0), 1.0)


class Table:
    """Has a probability for each rate (256 steps) and sojourn time (16 steps)."""

    name = "table with 4096 entries"
    start = [0.02] * 4096

    def __init__(self, parameters):
        self.parameters = parameters

    def changed(self, chance):
        values = list(self.parameters)
        for place in self.visited:
            if chance.random() < 0.05:
                values[place] = min(values[place] * 2 ** chance.gauss(0, 1.5), 1.0)
        return values

    def reset(self):
        self.rate = 0.0
        self.visited = getattr(self, "visited", set())

    def __call__(self, seen):
        self.rate = max(self.rate, seen.rate)
        place = 16 * (int(self.rate / 100e3) % 256) + min(int(seen.sojourn / 0.004), 15)
        self.visited.add(place)
        return self.parameters[place]


def climb(kind):
    """Returns the best policy of its kind after each trial, with its reward on the training lines."""
    chance = random.Random(1)
    best = kind(list(kind.start))
    reward = PROBLEM.train(best).reward
    history = [(best, reward)]
    for _ in range(TRIALS):
        tried = kind(best.changed(chance))
        gained = PROBLEM.train(tried).reward
        if gained > reward:
            best, reward = tried, gained
        history.append((best, reward))
    return history


def main():
    rows = ["| policy | trials | training | held-out |", "|---|---|---|---|"]
    for kind in (Law, Table):
        history = climb(kind)
        for trials in (0, TRIALS // 10, TRIALS):
            score = PROBLEM.score(history[trials][0])
            rows.append(f"| {kind.name} | {trials} | {score.training.reward:.3f} | {score.held_out.reward:.3f} |")
    text = "\n".join(rows)
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        marks = r"(<!-- overfitting -->\n).*?(<!-- end -->)"
        page = re.sub(marks, lambda found: found[1] + text + "\n" + found[2], page, count=1, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
