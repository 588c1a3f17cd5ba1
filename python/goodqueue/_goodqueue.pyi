"""The compiled half of the package."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, final

from ._arguments import QdiscLike
from ._units import RateLike, TimeLike

__version__: str

class Error(ValueError):
    """Bad input. The message names the place, the given value, what is allowed, and the remedy."""

@final
class Scenario:
    """One bottleneck with its traffic, the disciplines to compare, and a sweep.

    A scenario never changes: `set` returns a new one. `Scenario()` is the load of
    `goodqueue compare` without arguments.
    """

    def __init__(self, packed: str | None = None, aqms: list[Any] = ...) -> None: ...
    def packed(self) -> str: ...
    def uses_python(self) -> bool: ...
    @staticmethod
    def load(name: str) -> Scenario:
        """Reads a scenario file, or a built-in scenario by its name, such as `"rrul-10-1"`."""

    @staticmethod
    def parse(text: str, name: str = "scenario") -> Scenario:
        """Reads a scenario from the text of a scenario file. Errors call it `name`."""

    def set(self, key: str, value: Any) -> Scenario:
        """Returns the scenario with another value of `key`, such as `"link.up"` or `"flows.0.count"`.

        Times may be numbers of seconds or a `timedelta`, and rates numbers of bit/s, also inside lists and
        dicts.

        `goodqueue explain scenario` lists all keys.
        """

    def with_options(
        self,
        *,
        # Options of a request: begin
        qdiscs: QdiscLike | Iterable[QdiscLike] | None = None,
        qdiscs_up: str | Iterable[str] | None = None,
        rate: RateLike | None = None,
        up: RateLike | None = None,
        rtt: TimeLike | None = None,
        flows: int | None = None,
        time: TimeLike | None = None,
        seed: int | None = None,
        seeds: int | None = None,
        trace_down: str | os.PathLike[str] | None = None,
        trace_up: str | os.PathLike[str] | None = None,
        set: Mapping[str, Any] | None = None,
        # Options of a request: end
    ) -> Scenario:
        """Returns the scenario with the options of a request, which are those of `goodqueue compare`.

        Two options for the same key are an error, as in the command.
        """

    def count(self) -> int:
        """Returns the number of runs: sweep points times disciplines times seeds."""

    def to_json(self) -> str:
        """Returns the resolved scenario as JSON: every key with its value."""

@final
class Results:
    @staticmethod
    def from_json(text: str) -> Results: ...
    def to_json(self) -> str: ...
    def tables(self) -> str: ...
    def glance(self) -> str: ...
    def html(self, title: str | None = None) -> str: ...
    def headline(self, varied: list[str]) -> str: ...
    def metrics(self) -> dict[str, tuple[str, str]]: ...
    def table(self) -> Table: ...
    def series(self) -> Table: ...
    def export(self, path: str | os.PathLike[str]) -> list[Path]: ...
    @staticmethod
    def write(path: str | os.PathLike[str], text: str) -> None: ...
    def __len__(self) -> int: ...

@final
class Table:
    def columns(self) -> dict[str, list[Any]]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __len__(self) -> int: ...

@final
class Packet:
    """A packet.

    `bytes` is its length on the link, `flow` the number of its flow, `ecn` its ECN field
    (`"not_ect"`, `"ect0"`, `"ect1"` or `"ce"`), `dscp` its code point, and `content` anything that
    it carries.
    """

    def __init__(
        self, bytes: int = 1514, flow: int = 0, ecn: str = "not_ect", dscp: int = 0, content: object = None
    ) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def ecn(self) -> str:
        """The ECN field; `"ce"` after a mark."""

    @property
    def dscp(self) -> int: ...
    @property
    def content(self) -> Any: ...

@final
class Event:
    """The fate of a packet on a link."""

    @property
    def fate(self) -> Literal["arrived", "dropped", "lost"]:
        """`"dropped"` by the discipline, `"lost"` on the path behind it."""

    @property
    def time(self) -> float:
        """Time of the event in seconds."""

    @property
    def packet(self) -> Packet: ...
    @property
    def reason(self) -> str | None:
        """Why the packet was dropped or lost."""

@final
class Link:
    """One direction of a bottleneck, for the tests of a transport.

    `text` is a rate, a path and a discipline, such as `"20mbit delay 25ms loss 0.1% [fq_codel ecn]"`, or a
    line of a kind, such as `"40mbit preset cable"`. Time is in seconds, starts at 0, and passes only by the
    arguments of the methods. A time before that of an earlier call counts as equal to it. Equal seeds give
    equal events.
    """

    def __init__(self, text: str, seed: int = 1) -> None: ...
    def send(self, time: float, packet: Packet) -> None:
        """Offers a packet to the queue at `time`."""

    def poll(self, time: float) -> Event | None:
        """Returns the next event until `time`, in order of time, or `None` if there is none left."""

    def next_event(self) -> float | None:
        """Returns the time at which `poll` has something to do next, or `None`."""

    def set_rate(self, time: float, rate: RateLike) -> None:
        """Changes the rate at `time`. The packet in transmission keeps the old rate."""

    def gap(self, time: float, until: float) -> None:
        """Sends nothing from `time` to `until`, as a radio during a hand-over."""

    def record(self, path: str | os.PathLike[str]) -> None:
        """Writes every packet of the queue from now on to a file for `gq.replay`."""

    def stop_recording(self) -> None:
        """Ends the recording. An incomplete one is an error."""

    def statistics(self) -> dict[str, float]:
        """Returns packets by fate, the longest queue, and quantiles of the time in the queue in seconds.

        Without a packet a quantile is infinite, so that an upper bound fails.
        """

@final
class Qdisc:
    """A discipline in `tc`'s grammar, such as `"fq_codel target 13ms"`.

    Times are in seconds. Time passes only by the arguments of the methods. `rate` is the rate of the
    link, on which some defaults depend; `seed` that of the discipline's random numbers. Threads may share
    a discipline.
    """

    def __init__(self, line: str, rate: RateLike | None = None, seed: int = 1) -> None: ...
    def enqueue(self, time: float, packet: Packet) -> None:
        """A packet arrives at `time`. Dropped packets are in `take_drops`."""

    def dequeue(self, time: float) -> Packet | None:
        """Returns the packet to send at `time`, or `None` if no packet may leave."""

    def take_drops(self) -> list[tuple[Packet, str]]:
        """Returns the packets dropped since the last call, each with the reason."""

    def next_event(self) -> float | None:
        """The time at which a shaper wants to be asked again, or `None`."""

    @property
    def backlog(self) -> int:
        """Bytes in the queue."""

    def __len__(self) -> int: ...

@final
class Seen:
    """What an AQM written in Python sees when it decides about a packet. Times are in seconds."""

    @property
    def now(self) -> float:
        """Simulated time of the decision."""

    @property
    def sojourn(self) -> float:
        """Time that the packet has spent in the queue; 0 when it arrives."""

    @property
    def bytes(self) -> int:
        """Length of the packet on the link."""

    @property
    def ecn(self) -> str:
        """ECN field: `"not_ect"`, `"ect0"`, `"ect1"` or `"ce"`."""

    @property
    def packets(self) -> int:
        """Queued packets without this one."""

    @property
    def backlog(self) -> int:
        """Queued bytes without this packet."""

    @property
    def random(self) -> float:
        """A number from 0 to below 1, from the seed of the run."""

@final
class Sweep:
    packets: list[Path]
    def __init__(
        self,
        scenario: Scenario,
        series: str | None = None,
        store: str | None = None,
        packets: str | os.PathLike[str] | None = None,
        claimed: bool = False,
        read: bool = True,
    ) -> None: ...
    def count(self) -> int: ...
    def missing(self) -> list[int]: ...
    def simulate(
        self, numbers: list[int], jobs: int = 0, progress: Callable[[int, int], object] | None = None
    ) -> None: ...
    def checksum(self, numbers: list[int]) -> int: ...
    def hand_out(self, numbers: list[int]) -> bytes: ...
    def take_in(self, numbers: list[int], bytes: bytes) -> None: ...
    def results(self) -> Results: ...

def quantity(kind: str, name: str, value: TimeLike) -> tuple[float, str]:
    """Returns a time (`kind="time"`) or a rate in SI base units, and as text. Errors call it `name`."""

def options() -> list[tuple[str, str, str]]:
    """Returns the name, the form and the meaning of each option of a request."""

def _panic(words: str) -> None: ...
def program() -> tuple[str, str]:
    """Returns the version and the checksum of the compiled half."""

@final
class AqmLines:
    """Lines whose AQM is an agent. Arrays are bytes: actions of float64, observations of float32."""

    ACTIONS: list[float]
    OBSERVED: list[tuple[str, str]]
    MEASURED: list[tuple[str, str]]
    def __init__(
        self,
        count: int,
        *,
        threads: int,
        split: str,
        control: str,
        qdisc: str | None,
        interval: TimeLike,
        duration: TimeLike,
        rate: tuple[RateLike, RateLike] | None,
        rtt: tuple[TimeLike, TimeLike] | None,
        flows: tuple[int, int] | None,
        ecn: float | None,
    ) -> None: ...
    def begin(self, seeds: list[int]) -> bytes: ...
    def step(self, actions: bytes) -> tuple[bytes, bytes, bytes]: ...
    def measured(self) -> bytes: ...
    def packets(self) -> int: ...

@final
class CongestionLines:
    """Lines on which an agent is the congestion control of a flow."""

    ACTIONS: list[float]
    OBSERVED: list[tuple[str, str]]
    MEASURED: list[tuple[str, str]]
    def __init__(
        self,
        count: int,
        *,
        threads: int,
        split: str,
        control: str,
        congestion_control: str | None,
        interval: TimeLike,
        duration: TimeLike,
        rate: tuple[RateLike, RateLike] | None,
        rtt: tuple[TimeLike, TimeLike] | None,
        buffer: tuple[float, float] | None,
        cross: tuple[float, float] | None,
    ) -> None: ...
    def begin(self, seeds: list[int]) -> bytes: ...
    def step(self, actions: bytes) -> tuple[bytes, bytes, bytes]: ...
    def measured(self) -> bytes: ...
    def packets(self) -> int: ...

@final
class Interval:
    """One control interval at the queue: what a policy of `Problem` sees. Times are in seconds."""

    def __init__(
        self,
        *,
        backlog: float = 0.0,
        sojourn: float = 0.0,
        sojourn_max: float = 0.0,
        utilization: float = 0.0,
        arrived: float = 0.0,
        dropped: float = 0.0,
        marked: float = 0.0,
        rate: float = 0.0,
        setting: float = 0.0,
    ) -> None: ...
    @property
    def backlog(self) -> float:
        """Time that the link needs for the bytes queued at the end of the interval."""

    @property
    def sojourn(self) -> float:
        """Mean sojourn time of the packets that left; 0 if none left."""

    @property
    def sojourn_max(self) -> float:
        """Longest sojourn time of the packets that left."""

    @property
    def utilization(self) -> float:
        """Sent bits as a share of the bits that the link could have sent."""

    @property
    def arrived(self) -> float:
        """Bits that arrived as a share of the bits that the link could have sent; may exceed 1."""

    @property
    def dropped(self) -> float:
        """Dropped packets as a share of the packets that arrived; may exceed 1."""

    @property
    def marked(self) -> float:
        """Marked packets as a share of the packets that arrived; may exceed 1."""

    @property
    def rate(self) -> float:
        """Sent bits per second."""

    @property
    def setting(self) -> float:
        """The probability that was in force."""

@final
class Scorer:
    TABLE: list[str]
    def __init__(self, name: str) -> None: ...
    def seeds(self, split: str, seed: int) -> list[int]: ...
    def score(self, name: str, policy: Any, seed: int, jobs: int) -> str: ...
    def train(self, policy: Any, jobs: int) -> str: ...

def main(arguments: list[str]) -> int: ...
