"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

from ._goodqueue import Error, Scenario

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    QdiscLike = str | Callable[[], Any] | Mapping[str, Any]

# What other tools call our arguments.
_OTHERWISE = {
    "bandwidth": "rate", "delay": "rtt", "disciplines": "qdiscs", "down": "rate", "download": "rate",
    "duration": "time", "export": "packets", "latency": "rtt", "length": "time", "n_jobs": "jobs", "out": "store",
    "processes": "jobs", "queues": "qdiscs", "repetitions": "seeds", "threads": "jobs", "upload": "up",
    "workers": "jobs",
}

MOST_JOBS = 1024
"""Each parallel run has its own thread."""


def checked(function: F) -> F:
    """Refuses unknown arguments by name, with the nearest argument that exists."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def call(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                raise TypeError(_unknown(function.__name__, name, known))
        return function(*arguments, **named)

    # `functools.wraps`, whose import would take longer than that of the rest.
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(call, attribute, getattr(function, attribute))
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _unknown(function: str, name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    other = _OTHERWISE.get(name.lower())
    if not near and other in known:
        near = [other]
    help = f"did you mean `{near[0]}`?" if near else f"`help(goodqueue.{function})` describes them"
    return f"{function}() has no argument `{name}`\n  allowed: {', '.join(known)}\n  help: {help}"


def wrong(name: str, value: object, allowed: str) -> TypeError:
    """Returns the error of a value whose type is wrong."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return TypeError(f"`{name}` is {shown} of type {type(value).__name__}\n  allowed: {allowed}")


def whole(name: str, value: Any, least: int, most: int = 2**64 - 1) -> int:
    """Returns a whole number within bounds; numpy's numbers are some, too."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise wrong(name, value, "a whole number")
    number = int(value.__index__())
    if not least <= number <= most:
        raise Error(f"`{name}` is {number}, which is not possible\n  allowed: {least} to {most}")
    return number


def path(name: str, value: Any) -> str | None:
    """Returns a path or URL as text."""
    import os

    if value is None:
        return None
    try:
        given = os.fspath(value)
    except TypeError:
        raise wrong(name, value, "a path, as text or pathlib.Path") from None
    return os.fsdecode(given)


def scenario(value: Any) -> Scenario:
    """Returns a scenario: itself, a built-in one by its name, one from a file, or the default."""
    if value is None:
        return Scenario()
    if isinstance(value, Scenario):
        return value
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return Scenario.load(path("scenario", value) or "")
    raise wrong("scenario", value, "a Scenario, the name of a built-in scenario, or the path of a file")


def listed(name: str, value: Any, what: str) -> list[Any]:
    """Returns the items of a list, tuple, array or iterator."""
    try:
        return list(value)
    except TypeError:
        raise wrong(name, value, what) from None


def mapping(name: str, value: Any, example: str) -> Mapping[str, Any]:
    """Returns a mapping whose keys are texts."""
    if not hasattr(value, "keys"):
        raise wrong(name, value, f"a dict, such as {example}")
    for key in value.keys():  # noqa: SIM118 (a mapping may iterate over anything)
        if not isinstance(key, str):
            raise TypeError(
                f"`{name}` has the key {key!r}, which is no text\n  allowed: keys such as those in {example}"
            )
    return value  # type: ignore[no-any-return]
