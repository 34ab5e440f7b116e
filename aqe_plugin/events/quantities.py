"""Numbers with their units, at a scale that can be read."""

from __future__ import annotations

from collections.abc import Callable

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
# A float has no more.
_MOST_MORE_DIGITS = 15


def quantity(value: float, unit: str, more_digits: int = 0) -> str:
    """A number with its unit at a readable scale: ``12.3 MiB``, ``1.2 s``, ``4.5 M rows``, ``36.0 %``.

    Args:
        more_digits: how many digits to show beyond the usual ones.
    """
    if unit == "bytes":
        return _scaled(value, 1024, _BINARY_UNITS, more_digits)
    if unit == "millis":
        if round(abs(value), more_digits) < 1000:
            return f"{value:,.{more_digits}f} ms"
        return f"{value / 1000:,.{1 + more_digits}f} s"
    if unit == "ratio":
        return f"{_percent(value, 3 + more_digits)} %"
    if unit == "":
        return f"{value:,.{6 + more_digits}g}"
    number = count(value, more_digits)
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def count(value: float, more_digits: int = 0) -> str:
    """A number of things at a readable scale, without their name: ``9,999``, ``28.8 M``."""
    if abs(value) < 10_000:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{3 + more_digits}g}"
    return _scaled(value, 1000, ("", "k", "M", "G", "T", "P"), more_digits)


def told_apart(show: Callable[[float, int], str], first: float, second: float) -> tuple[str, str]:
    """Both numbers as ``show`` writes them, with as many more digits as it takes to make different numbers look
    different: ``71.8 ms`` and ``72.3 ms``, not ``72 ms`` twice."""
    shown = (show(first, 0), show(second, 0))
    for more_digits in range(1, _MOST_MORE_DIGITS):
        if first == second or shown[0] != shown[1]:
            break
        shown = (show(first, more_digits), show(second, more_digits))
    return shown


def quantities(first: float, second: float, unit: str) -> tuple[str, str]:
    """Both quantities, :func:`told_apart`."""
    return told_apart(lambda value, more_digits: quantity(value, unit, more_digits), first, second)


def _percent(share: float, digits: int) -> str:
    """Only the whole reads as 100."""
    return told_apart(lambda value, more_digits: f"{value * 100:.{digits + more_digits}g}", share, 1.0)[0]


def _scaled(value: float, step: int, suffixes: tuple[str, ...], more_digits: int) -> str:
    power = 0
    while abs(value) >= step and power < len(suffixes) - 1:
        value, power = value / step, power + 1
    if power == 0:
        whole = float(value).is_integer()
        return f"{value:,.{0 if whole else more_digits}f} {suffixes[0]}".rstrip()
    return f"{value:,.{1 + more_digits}f} {suffixes[power]}"
