"""Rates and times: numbers in SI base units that know what they are."""

from __future__ import annotations

from ._goodqueue import quantity

# The import of `typing` and its like would take longer than that of the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import TypeVar

    Q = TypeVar("Q", bound="_Quantity")
    RateLike = str | float
    TimeLike = str | float | timedelta


class _Quantity(float):
    __slots__ = ()
    _QUANTITY = ""

    def __new__(cls: type[Q], value: TimeLike) -> Q:
        return super().__new__(cls, quantity(cls._QUANTITY, cls.__name__, value)[0])

    def __str__(self) -> str:
        return quantity(self._QUANTITY, type(self).__name__, self)[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type[_Quantity], tuple[str]]:
        return type(self), (str(self),)

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else str(self)


class Rate(_Quantity):
    """A rate, as a number of bit/s. `Rate("10mbit")`, `Rate(10e6)` and `mbit(10)` are equal.

    Arithmetic gives plain numbers of bit/s, which every argument for a rate takes. As text it is a word
    of tc's grammar: `f"tbf rate {mbit(2)} burst 2kb limit 100kb"`.
    """

    __slots__ = ()
    _QUANTITY = "rate"


class Time(_Quantity):
    """A time, as a number of seconds. `Time("50ms")`, `Time(0.05)` and `ms(50)` are equal.

    Arithmetic gives plain numbers of seconds, which every argument for a time takes. As text it is a word
    of tc's grammar: `f"codel target {ms(13)}"`.
    """

    __slots__ = ()
    _QUANTITY = "time"


def kbit(number: float) -> Rate:
    """Returns a rate in kbit/s."""
    return _rate(number, "kbit")


def mbit(number: float) -> Rate:
    """Returns a rate in Mbit/s."""
    return _rate(number, "mbit")


def gbit(number: float) -> Rate:
    """Returns a rate in Gbit/s."""
    return _rate(number, "gbit")


def us(number: float) -> Time:
    """Returns a time in microseconds."""
    return _time(number, "us")


def ms(number: float) -> Time:
    """Returns a time in milliseconds."""
    return _time(number, "ms")


def _rate(number: float, unit: str) -> Rate:
    return Rate(_digits(number, unit))


def _time(number: float, unit: str) -> Time:
    return Time(_digits(number, unit))


def _digits(number: float, unit: str) -> str:
    """Returns a number with its unit. Text is exact where a product of floats would not be: `ms(0.3)`."""
    if isinstance(number, (bool, str, _Quantity)) or not hasattr(number, "__float__"):
        raise TypeError(f"{unit}({number!r}) has no number\n  allowed: a number, such as {unit}(10)")
    if not 0 <= float(number) < float("inf"):
        from ._goodqueue import Error

        raise Error(f"{unit}({number}) is not possible\n  allowed: numbers from 0 on, such as {unit}(10)")
    # Without an exponent, which texts of units do not have.
    return f"{float(number):.12f}".rstrip("0").rstrip(".") + unit
