"""Gymnasium environments: an agent is the AQM of a line, or the congestion control of a flow.

`import goodqueue.gym` registers `goodqueue/AQM-v0` and `goodqueue/CongestionControl-v0`, each also as
a vector environment that steps all its lines in threads:

>>> import gymnasium, goodqueue.gym
>>> env = gymnasium.make("goodqueue/AQM-v0", rate="10mbit")
>>> observation, info = env.reset(seed=1)
>>> lines = gymnasium.make_vec("goodqueue/AQM-v0", num_envs=256, vectorization_mode="vector_entry_point")

Time is simulated, so nothing ever waits. Seed and actions determine every number, on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import gymnasium
    import numpy as np
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError as missing:
    raise ImportError("goodqueue.gym needs Gymnasium: pip install gymnasium") from missing

from numpy.typing import NDArray

from ._goodqueue import AqmLines, CongestionLines, Error

__all__ = [
    "AqmEnv",
    "AqmVectorEnv",
    "CongestionControlEnv",
    "CongestionControlVectorEnv",
    "baseline",
]

Observation = NDArray[np.float32]
Action = NDArray[np.float32]
if TYPE_CHECKING:
    from ._units import RateLike, TimeLike

    # One value, or the least and the greatest: `"10mbit"`, `("2mbit", "64mbit")`, `(2e6, 64e6)`.
    Rates = RateLike | tuple[RateLike, RateLike]
    Times = TimeLike | tuple[TimeLike, TimeLike]


def _aqm(
    count: int,
    *,
    threads: int = 1,
    split: str = "training",
    control: str = "probability",
    qdisc: str | None = None,
    interval: TimeLike = "15ms",
    duration: TimeLike = "30s",
    rate: Rates | None = None,
    rtt: Times | None = None,
    flows: int | tuple[int, int] | None = None,
    ecn: float | None = None,
) -> AqmLines:
    return AqmLines(
        count,
        threads=threads,
        split=split,
        control=control,
        qdisc=qdisc,
        interval=interval,
        duration=duration,
        rate=_both(rate),
        rtt=_both(rtt),
        flows=_both(flows),
        ecn=ecn,
    )


def _congestion_control(
    count: int,
    *,
    threads: int = 1,
    split: str = "training",
    control: str = "window",
    congestion_control: str | None = None,
    interval: TimeLike = "50ms",
    duration: TimeLike = "20s",
    rate: Rates | None = None,
    rtt: Times | None = None,
    buffer: float | tuple[float, float] | None = None,
    cross: float | tuple[float, float] | None = None,
) -> CongestionLines:
    return CongestionLines(
        count,
        threads=threads,
        split=split,
        control=control,
        congestion_control=congestion_control,
        interval=interval,
        duration=duration,
        rate=_both(rate),
        rtt=_both(rtt),
        buffer=_both(buffer),
        cross=_both(cross),
    )


class _Env(gymnasium.Env[Observation, Action]):
    """One line."""

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium declares it of instances)

    def __init__(self, lines: AqmLines | CongestionLines, render_mode: str | None = None) -> None:
        if render_mode is not None:
            raise Error(f"the render mode {render_mode!r} is not possible\n  allowed: None")
        self.render_mode = render_mode
        self._lines = lines
        self.observation_space, self.action_space = _spaces(lines)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode on the line of `seed`; without one, on a line that the last seed determines."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(2**63)) if seed is None else seed
        observation = np.frombuffer(self._lines.begin([chosen]), np.float32).copy()
        return observation, self._info()

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Applies an action for one control interval. Episodes end by truncation, when their time is up."""
        packed = _packed(action, self.action_space)
        seen, rewards, over = self._lines.step(packed)
        observation = np.frombuffer(seen, np.float32).copy()
        reward = float(np.frombuffer(rewards, np.float64)[0])
        return observation, reward, False, over[0] == 1, self._info()

    def _info(self) -> dict[str, Any]:
        values = np.frombuffer(self._lines.measured(), np.float64)
        return {name: float(value) for (name, _), value in zip(self._lines.MEASURED, values, strict=True)}


class AqmEnv(_Env):
    """`goodqueue/AQM-v0`: the agent decides once per `interval` how strongly the queue signals.

    `control` is `"probability"` (the probability of a mark or drop is the square of the action) or
    `"target"` (CoDel's target is 1 ms, plus 99 ms times the square of the action). With `qdisc`, such
    as `"pie ecn"`, that discipline decides and actions change nothing: a baseline.

    `split` is `"training"` or `"held_out"`: no line is in both. A seed draws the line from `rate`,
    `rtt`, `flows` (downloads) and `ecn` (share of lines with ECN).
    """

    OBSERVED = AqmLines.OBSERVED

    def __init__(self, *, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__(_aqm(1, **settings), render_mode)


class CongestionControlEnv(_Env):
    """`goodqueue/CongestionControl-v0`: the agent controls one download.

    `control` is `"window"` or `"rate"`: the congestion window, or the pacing rate, is multiplied by 2
    to the power of the action. With `congestion_control`, such as `"bbr"`, that one decides and
    actions change nothing: a baseline.

    A seed draws the line from `rate`, `rtt`, `buffer` (in products of rate and round-trip time) and
    `cross` (rate of datagrams that come and go, as a share of the link).
    """

    OBSERVED = CongestionLines.OBSERVED

    def __init__(self, *, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__(_congestion_control(1, **settings), render_mode)


class _VectorEnv(VectorEnv[Observation, Action, NDArray[Any]]):
    """Many lines, stepped by one call in threads without the GIL.

    The step after the end of an episode begins the next one, with reward 0.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (gymnasium declares it of instances)

    def __init__(
        self, num_envs: int, lines: AqmLines | CongestionLines, render_mode: str | None = None
    ) -> None:
        if render_mode is not None:
            raise Error(f"the render mode {render_mode!r} is not possible\n  allowed: None")
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._lines = lines
        self.single_observation_space, self.single_action_space = _spaces(lines)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._never = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode on every line. Line i of `seed=s` has the seed s + i."""
        if seed is None or isinstance(seed, int):
            super().reset(seed=seed)
        first = int(self.np_random.integers(2**62)) if seed is None else seed
        if isinstance(first, int):
            chosen = [first + number for number in range(self.num_envs)]
        else:
            draw = self.np_random.integers
            chosen = [int(draw(2**62)) if one is None else one for one in first]
        return self._observed(self._lines.begin(chosen)), self._info()

    def step(
        self, actions: Action
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Applies an action on every line for one control interval."""
        seen, rewards, over = self._lines.step(_packed(actions, self.action_space))
        truncated = np.frombuffer(over, np.bool_).copy()
        observations = self._observed(seen)
        return observations, np.frombuffer(rewards, np.float64), self._never.copy(), truncated, self._info()

    @property
    def packets(self) -> int:
        """The number of packets that all bottlenecks have sent."""
        return self._lines.packets()

    def _observed(self, data: bytes) -> Observation:
        return np.frombuffer(data, np.float32).reshape(self.observation_space.shape or ()).copy()

    def _info(self) -> dict[str, Any]:
        values = np.frombuffer(self._lines.measured(), np.float64).reshape(self.num_envs, -1)
        return {name: values[:, place] for place, (name, _) in enumerate(self._lines.MEASURED)}


class AqmVectorEnv(_VectorEnv):
    """Many lines of `goodqueue/AQM-v0`; the settings are those of `AqmEnv`.

    `threads` is the number of threads (0: one for each processor).
    """

    def __init__(
        self, num_envs: int = 256, *, threads: int = 0, render_mode: str | None = None, **settings: Any
    ) -> None:
        super().__init__(num_envs, _aqm(num_envs, threads=threads, **settings), render_mode)


class CongestionControlVectorEnv(_VectorEnv):
    """Many lines of `goodqueue/CongestionControl-v0`; the settings are those of `CongestionControlEnv`.

    `threads` is the number of threads (0: one for each processor).
    """

    def __init__(
        self, num_envs: int = 256, *, threads: int = 0, render_mode: str | None = None, **settings: Any
    ) -> None:
        super().__init__(num_envs, _congestion_control(num_envs, threads=threads, **settings), render_mode)


def baseline(
    id: str, policy: str, *, seeds: int = 16, split: str = "held_out", **settings: Any
) -> NDArray[Any]:
    """Returns the mean reward of a control interval on the lines of the seeds 0, 1, ...

    `policy` is a discipline such as `"codel ecn"` for `goodqueue/AQM-v0`, and a congestion control such
    as `"cubic"` for `goodqueue/CongestionControl-v0`. Rewards are those that an agent gets.
    """
    lines: _VectorEnv
    if id == "goodqueue/AQM-v0":
        lines = AqmVectorEnv(seeds, split=split, qdisc=policy, **settings)
    elif id == "goodqueue/CongestionControl-v0":
        lines = CongestionControlVectorEnv(seeds, split=split, congestion_control=policy, **settings)
    else:
        allowed = "goodqueue/AQM-v0, goodqueue/CongestionControl-v0"
        raise Error(f"there is no environment {id!r}\n  allowed: {allowed}")
    lines.reset(seed=0)
    total, steps, over = np.zeros(seeds), 0, False
    nothing = np.zeros((seeds, 1), np.float32)
    while not over:
        _, rewards, _, truncated, _ = lines.step(nothing)
        total, steps, over = total + rewards, steps + 1, bool(truncated.all())
    return total / steps


def _spaces(
    lines: AqmLines | CongestionLines,
) -> tuple[Any, Any]:
    low, high = lines.ACTIONS
    box = gymnasium.spaces.Box
    return box(0.0, 1.0, (len(lines.OBSERVED),), np.float32), box(low, high, (1,), np.float32)


def _packed(action: Any, space: gymnasium.Space[Any]) -> bytes:
    """Returns an action as bytes, if it is one of the space."""
    try:
        array = np.asarray(action, np.float64)
    except (TypeError, ValueError) as wrong:
        raise Error(f"an action of type {type(action).__name__} is no array of numbers: {wrong}") from wrong
    if array.shape != space.shape:
        raise Error(f"an action of shape {array.shape} is not possible\n  allowed: {space.shape}")
    return array.tobytes()


def _both(given: Any) -> Any:
    """Returns the bounds of a range."""
    return given if given is None or isinstance(given, tuple) else (given, given)


def _register(id: str, name: str) -> None:
    if id not in gymnasium.registry:
        gymnasium.register(
            id, entry_point=f"goodqueue.gym:{name}Env", vector_entry_point=f"goodqueue.gym:{name}VectorEnv"
        )


_register("goodqueue/AQM-v0", "Aqm")
_register("goodqueue/CongestionControl-v0", "CongestionControl")
