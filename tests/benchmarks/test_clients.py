"""Clients that run at once share a round, and are reported by what they are."""

from benchmarks.clients import Answered, Lap, mixes, order_of_client, table
from workloads.tpcds.queries import Query


def _lap(mix: str, seconds: float, *answers: tuple[str, float]) -> Lap:
    return Lap(mix, seconds, tuple(Answered(contender, "q1", took, []) for contender, took in answers))


def test_in_mixed_rounds_every_second_client_has_the_plugin() -> None:
    assert [contender.name for contender in mixes(4)[-1].of_clients] == ["default", "plugin", "default", "plugin"]


def test_in_the_next_round_the_other_clients_have_it() -> None:
    turned = mixes(4)[-1].turned(1)
    assert [contender.name for contender in turned.of_clients] == ["plugin", "default", "plugin", "default"]


def test_every_client_runs_all_queries_and_starts_with_another_one() -> None:
    queries = [Query(name, "", "") for name in ("q1", "q2", "q3", "q4")]
    orders = [[query.name for query in order_of_client(queries, client, 2)] for client in range(2)]
    assert orders == [["q1", "q2", "q3", "q4"], ["q3", "q4", "q1", "q2"]]


def test_the_means_of_a_round_are_those_of_clients_that_are_alike() -> None:
    laps = [
        _lap("mixed", 10.0, ("default", 4.0), ("plugin", 1.0), ("default", 6.0)),
        _lap("mixed", 12.0, ("default", 5.0), ("plugin", 2.0), ("default", 9.0)),
    ]
    assert list(table(laps))[2:] == [
        "| mixed | default | 10.0 and 12.0 | 5.00 and 7.00 |",
        "| mixed | plugin |  | 1.00 and 2.00 |",
    ]
