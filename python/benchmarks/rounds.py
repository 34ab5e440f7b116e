"""The order of a round, and which of the base's two runs an arm is held against."""

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timed:
    """A run that counts.

    Attributes:
        place: how many runs of its round were before it.
    """

    place: int
    seconds: float


def shuffled(query: str, turn: int, arms: Iterable[str]) -> list[str]:
    """The arms in an order that depends on the query and the round alone."""
    order = sorted(arms)
    random.Random(f"{query} {turn}").shuffle(order)
    return order


def order_of_round(query: str, turn: int, base: str, others: Iterable[str]) -> list[str]:
    """The base first and in the middle of the others, shuffled anew in each round."""
    order = shuffled(query, turn, others)
    middle = (len(order) + 1) // 2
    return [base, *order[:middle], base, *order[middle:]]


def nearest_seconds(place: int, runs: Sequence[Timed]) -> float:
    """Seconds of the run with the nearest place; of two that are equally near, the mean."""
    distance = min(abs(place - run.place) for run in runs)
    return statistics.fmean(run.seconds for run in runs if abs(place - run.place) == distance)
