"""The seconds that the exporter says were saved and lost are those that ``explain`` says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.events.savings import savings_of
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.logs import Skipped, read_log
from aqe_plugin.logs.files import opened_files
from aqe_plugin.logs.queries import read_queries
from samples import SAVING, ended

RECORDED = Path(__file__).resolve().parents[2] / "deploy" / "recorded" / "tpcds.zstd"


def seconds(tally: Tally) -> dict[str, tuple[float, float]]:
    return {mode: (tally.counts(metrics.SAVED)[mode,], tally.counts(metrics.LOST)[mode,]) for mode in metrics.MODES}


def test_the_seconds_of_a_real_log_are_those_of_explain() -> None:
    tally = Tally()
    with opened_files(RECORDED, None) as files:
        (found,) = files.find()
        for event in read_log(found, files):
            assert not isinstance(event, Skipped)
            tally.add(found.name, event)
    applied = savings_of(read_queries(RECORDED)).applied
    assert applied.saved_millis > 1000
    expected = (applied.saved_millis / 1000, applied.lost_millis / 1000)
    assert seconds(tally) == {"apply": pytest.approx(expected), "observe": (0, 0)}


def test_losses_and_what_was_only_observed_are_counted_apart() -> None:
    tally = Tally()
    observed = replace(SAVING, applied=False)
    dearer = replace(SAVING, elapsed_millis=-500.0)
    unpriced = replace(SAVING, elapsed_millis=None)
    tally.add("app-1", replace(ended(), savings=(SAVING, dearer, unpriced, observed)))
    tally.add("app-1", replace(ended(8), savings=None))
    assert seconds(tally) == {"apply": (3.388, 0.5), "observe": (3.388, 0)}
