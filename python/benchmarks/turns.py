"""Contenders take turns, so that none always goes first or after the same other."""

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def turned(everyone: Sequence[_T], turn: int) -> Sequence[_T]:
    """All of them, in the order of that round: A B C, C B A, B C A, A C B, and so on."""
    first = turn // 2 % len(everyone)
    order = (*everyone[first:], *everyone[:first])
    return order[::-1] if turn % 2 else order
