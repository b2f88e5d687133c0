"""What arguments hold, looked at where it is known which one is meant."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, Mapping

from skiff._errors import InvalidArgument


def shown(value: Any) -> str:
    """A value as a sentence has room for it."""
    text = repr(value)
    return text if len(text) <= 60 else f"of type {type(value).__name__}"


def one_line(name: str) -> str:
    """A name of a file's that does nothing to a terminal: what is not printable is written as repr() does."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)


def chosen(what: str, value: str, allowed: tuple[str, ...]) -> str:
    """One of several words."""
    if value not in allowed:
        raise InvalidArgument(f"{what} is {value!r}; expected one of {', '.join(map(repr, allowed))}")
    return value


def named(what: str, given: Mapping[str, Any] | None, example: str) -> dict[str, Any]:
    """A keyword that is a dictionary by name; None is an empty one. ``example``: ``'{"batch": 1}'``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"{what} is {shown(given)}; expected a dict by name, as {what}={example}")
    for name in given:
        if not isinstance(name, str):
            raise InvalidArgument(f"{what} has the key {shown(name)}; expected a name, as {what}={example}")
    return dict(given)


def listed(what: str, given: Any, example: str) -> list[Any]:
    """A keyword that takes several; one text or path is a list of one, None an empty one."""
    if isinstance(given, (str, os.PathLike)):
        return [given]
    try:
        return [] if given is None else list(given)
    except TypeError:
        raise InvalidArgument(f"{what} is {shown(given)}; expected a list, as {what}={example}") from None


def whole(what: str, value: Any, least: int, otherwise: str = "", most: int = 2**64 - 1) -> int:
    """A whole number, also one of NumPy's. ``otherwise``: what the keyword takes beside, as ``", or None for no limit"``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidArgument(f"{what} is {shown(value)}; expected {f'{least} or more' if isinstance(value, int) else 'a whole number'}{otherwise}")
    if number > most:
        raise InvalidArgument(f"{what} is {shown(value)}; expected {most} or less{otherwise}")
    return number


def real(what: str, value: Any) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{what} is {shown(value)}; expected a number") from None


def finite(what: str, value: Any) -> float:
    """A number that is neither NaN nor an infinity."""
    number = real(what, value)
    if not math.isfinite(number):
        raise InvalidArgument(f"{what} is {number}; expected a finite number")
    return number


def ranges(given: Mapping[str, tuple[float, float]] | None, what: str = "input_ranges") -> dict[str, tuple[float, float]]:
    """Ranges of single inputs."""
    pairs = {}
    for name, pair in named(what, given, '{"mask": (0, 1)}').items():
        try:
            low, high = pair
            pairs[name] = (float(low), float(high))
        except (TypeError, ValueError):
            raise InvalidArgument(f"{what}: {name!r} is {shown(pair)}; expected its ends, as {{{name!r}: (0, 1)}}") from None
    return pairs


def open_sizes(given: Mapping[str, int] | None, what: str = "sizes") -> dict[str, int]:
    """Sizes of open dimensions."""
    return {name: whole(f"{what}: {name!r}", size, 0) for name, size in named(what, given, '{"batch": 1}').items()}
