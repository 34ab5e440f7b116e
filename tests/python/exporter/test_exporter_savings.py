"""The seconds that the exporter says were saved and lost are those that ``explain`` says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.events.model import CostTerm, FilterOutcome, Mode
from aqe_plugin.events.savings import savings_of
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.logs import FileOffsets, Skipped, read_log
from aqe_plugin.logs.files import opened_files
from aqe_plugin.logs.queries import read_queries
from samples import DECISION, OUTCOME, PASSED_ALL, decided, ended, line, over, started, write_log

RECORDED = Path(__file__).resolve().parents[2] / "deploy" / "recorded" / "tpcds.zstd"


def tallied(log: Path, tally: Tally) -> Tally:
    with opened_files(log, None) as files:
        (found,) = files.find()
        for event in read_log(found, files):
            assert not isinstance(event, Skipped)
            tally.add(found.name, event)
    return tally


def seconds(tally: Tally, mode: Mode) -> tuple[float, float]:
    return tally.counts(metrics.SAVED)[mode,], tally.counts(metrics.LOST)[mode,]


def explained(log: Path, mode: Mode) -> tuple[float, float]:
    savings = savings_of(read_queries(log))
    effect = savings.applied if mode == "apply" else savings.observed
    return effect.saved_millis / 1000, effect.lost_millis / 1000


def test_the_seconds_of_a_real_log_are_those_of_explain() -> None:
    assert explained(RECORDED, "apply")[0] > 1
    assert seconds(tallied(RECORDED, Tally()), "apply") == pytest.approx(explained(RECORDED, "apply"))


FILTER_COSTS = (CostTerm("filter build", 150e6), CostTerm("filter check", 50e6))
PRICED = replace(DECISION, options=tuple(replace(one, terms=FILTER_COSTS) for one in DECISION.options))
USELESS = replace(OUTCOME, rows_out=OUTCOME.rows_in)
FEW = replace(OUTCOME, rows_in=1000, rows_out=900)


@pytest.mark.parametrize(
    ("outcomes", "mode"),
    [
        pytest.param((OUTCOME,), "apply", id="a filter that worked"),
        pytest.param((USELESS,), "apply", id="a filter that removed nothing"),
        pytest.param((PASSED_ALL,), "apply", id="a filter that could not be built"),
        pytest.param((FEW, replace(FEW, join_id="j2")), "apply", id="two filters of one table"),
        pytest.param((), "observe", id="a filter that was only decided"),
    ],
)
def test_the_seconds_of_a_query_are_those_of_explain(
    tmp_path: Path, outcomes: tuple[FilterOutcome, ...], mode: Mode
) -> None:
    second = replace(PRICED, facts=replace(PRICED.facts, join_id="j2"))
    decisions = [line(decided(decision=one, mode=mode)) for one in (PRICED, second)]
    log = write_log(tmp_path / "app-1", [started(), *decisions, over(), line(ended(outcomes=outcomes))])
    expected = explained(log, mode)
    assert any(expected) == (outcomes != (PASSED_ALL,))
    assert seconds(tallied(log, Tally()), mode) == pytest.approx(expected)


def test_a_restart_while_a_query_runs_loses_none_of_its_seconds(tmp_path: Path) -> None:
    before, checkpoint = Tally(), tmp_path / "checkpoint.db"
    before.add("app-1", decided())
    with opened(checkpoint, "logs") as first:
        first.write(FileOffsets({}), before)
    after = Tally()
    with opened(checkpoint, "logs") as second:
        second.restore(after)
    for tally in (before, after):
        tally.add("app-1", ended())
    assert seconds(after, "apply") == seconds(before, "apply")
    assert seconds(after, "apply")[0] > 1
