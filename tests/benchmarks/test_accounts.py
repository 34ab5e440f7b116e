"""The plugin's own account of a run is found by the run's name, and outlives the process that read it."""

from pathlib import Path

import pytest

from benchmarks.accounts import Account, AccountFile, accounts_of, logged_queries
from benchmarks.measure import run_description

_ACCOUNT = Account(planned=3, applied=3, errors=0, rule_share=0.01)


def test_runs_are_named_by_query_contender_and_number() -> None:
    assert run_description("q93", "plugin", 2) == "q93 plugin 2"


def test_a_newer_account_of_a_run_wins_and_the_others_stay(tmp_path: Path) -> None:
    file = AccountFile(tmp_path / "accounts.json", jar_digest="abc")
    file.add({"q93 plugin 1": _ACCOUNT, "q50 plugin 1": _ACCOUNT})
    newer = Account(planned=2, applied=2, errors=0, rule_share=0.02)
    file.add({"q93 plugin 1": newer})
    assert file.load() == {"q93 plugin 1": newer, "q50 plugin 1": _ACCOUNT}


def test_accounts_of_another_jar_are_not_mixed_in(tmp_path: Path) -> None:
    AccountFile(tmp_path / "accounts.json", jar_digest="abc").add({"q93 plugin 1": _ACCOUNT})
    assert AccountFile(tmp_path / "accounts.json", jar_digest="def").load() == {}


@pytest.mark.parametrize("lines", [b"", b'{"Event":"SparkListenerLogStart","Spark Version":"4.1.3"}\n'])
def test_a_log_without_decisions_has_no_account(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "local-1").write_bytes(lines)
    assert accounts_of(logged_queries(tmp_path)) == {}
