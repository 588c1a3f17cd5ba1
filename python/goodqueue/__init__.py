"""Compare queue disciplines on your link with your traffic.

>>> import goodqueue as gq
>>> results = gq.compare(rate="10mbit", up="1mbit", rtt="50ms", qdiscs=["pfifo", "fq_codel"], time="5s")
>>> len(results)
2
"""

from __future__ import annotations

from ._api import compare, run, sweep
from ._goodqueue import Error, Event, Interval, Link, Packet, Qdisc, Scenario, Seen, __version__
from ._results import Results
from ._units import Rate, Time, gbit, kbit, mbit, ms, us

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._commands import Reproduction, replay, reproduce
    from ._problem import Problem, Score
    from ._report import Report

__all__ = [
    "Error",
    "Event",
    "Interval",
    "Link",
    "Packet",
    "Problem",
    "Qdisc",
    "Rate",
    "Report",
    "Reproduction",
    "Results",
    "Scenario",
    "Score",
    "Seen",
    "Time",
    "__version__",
    "compare",
    "gbit",
    "kbit",
    "mbit",
    "ms",
    "replay",
    "reproduce",
    "run",
    "sweep",
    "us",
]

if not TYPE_CHECKING:
    # Modules of these names load when they are used, so that the import stays fast.
    _LATER = {
        "Problem": "_problem",
        "Report": "_report",
        "Reproduction": "_commands",
        "Score": "_problem",
        "replay": "_commands",
        "reproduce": "_commands",
    }

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f".{_LATER[name]}", __name__), name)
