"""Compare queue disciplines on your link with your traffic.

>>> import goodqueue as gq
>>> results = gq.compare(rate="10mbit", up="1mbit", rtt="50ms", qdiscs=["pfifo", "fq_codel"], time="5s")
>>> len(results)
2
"""

from __future__ import annotations

from ._api import compare, run, sweep
from ._commands import Reproduction, replay, reproduce
from ._goodqueue import Error, Interval, Packet, Qdisc, Scenario, Seen, __version__
from ._problem import Problem, Score
from ._results import Results

__all__ = [
    "Error",
    "Interval",
    "Packet",
    "Problem",
    "Qdisc",
    "Reproduction",
    "Results",
    "Scenario",
    "Score",
    "Seen",
    "__version__",
    "compare",
    "replay",
    "reproduce",
    "run",
    "sweep",
]
