"""Contenders take turns: each round begins with another one, so that none always follows the same."""

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def turned(everyone: Sequence[_T], turn: int) -> Sequence[_T]:
    """All of them, in the order of that round."""
    first = turn % len(everyone)
    return (*everyone[first:], *everyone[:first])
