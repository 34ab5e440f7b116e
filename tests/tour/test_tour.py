"""A new user's tour, whole: every step is a command of its own, and nothing in between is done by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.extent import only_in_test_all
from tests.programs import program_of
from tests.tour.steps import BAD_VALUES, Seen, tour
from workloads.tpcds import ensure_dataset

pytestmark = [pytest.mark.e2e, only_in_test_all]

_ROOT = Path(__file__).resolve().parents[2]
# The smallest scale at which these queries are slower by half and more when their filters let every row through.
_SCALE = float(os.environ.get("AQE_PLUGIN_TOUR_SCALE", "1"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    programs = program_of(_ROOT / "project" / "prometheus", os.environ)
    return tour(tmp_path_factory.mktemp("tour"), ensure_dataset(_SCALE).folder, programs, print)


def test_install_writes_its_proposal_into_an_empty_conf_folder(seen: Seen) -> None:
    assert seen.before is None
    assert "spark.plugins" in seen.shown["install"].plain
    assert "io.aqeplugin.AqePlugin" in seen.shown["install"].plain
    assert "names io.aqeplugin.AqePlugin" in seen.shown["check"].plain


def test_decisions_are_in_prometheus_two_scrapes_after_a_plain_submit(seen: Seen) -> None:
    # The tour's Prometheus scrapes every second; a query may have been seen before its application had ended.
    assert seen.clock.first_query_scraped - seen.clock.first_query_ended < 2


def test_a_bad_threshold_raises_the_alert(seen: Seen) -> None:
    assert seen.clock.canary_began < seen.clock.alert_fired
    assert seen.passing[0][1] == 0
    assert seen.passing[-1][1] > 0.2


def test_the_canary_is_rolled_back_and_the_conf_is_as_before_it(seen: Seen) -> None:
    good, back = seen.tried
    assert back == good
    assert not any(value.split("=")[0].encode() in back for value in BAD_VALUES)
    assert "slower: slower in" in seen.shown["roll back"].plain


def test_history_shows_who_did_what_when_and_why(seen: Seen) -> None:
    rings = [record for record in seen.history if "ring" in record]
    assert [record["ring"] for record in rings] == ["observe", "canary", "rolled_back"]
    assert rings[-1]["why"].startswith("slower: slower in ")
    assert all(record["who"] and record["atMillis"] for record in rings)
    assert [f"{change['key']}={change['new']}" for change in rings[0]["changes"]] == list(BAD_VALUES)


def test_uninstall_leaves_the_conf_as_it_was(seen: Seen) -> None:
    assert seen.after == seen.before
