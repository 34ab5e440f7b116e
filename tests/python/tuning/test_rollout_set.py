"""``rollout --set`` tries a value that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqe_plugin.conf.keys import CANARY_SET, PREFIX
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import WriteError
from aqe_plugin.tuning.rollout.ledger import rollouts_of
from aqe_plugin.tuning.rollout.rings import Ring
from commands import Answer
from tuned_cluster import Cluster, step

pytestmark = pytest.mark.simulation

RATE = f"{PREFIX}filter.maxPassRate"

ASKED = "spark.aqePlugin.filter.buildTimeout=10"


def test_set_begins_without_logs(cluster: Cluster, answer: Answer) -> None:
    code, _, err = answer("rollout", "--target", str(cluster.target), "--set", ASKED, "--yes")
    assert (code, "Read " in err) == (0, False), err
    assert cluster.target.read_text().endswith("spark.aqePlugin.filter.buildTimeout 10\n")
    # From then on there is something to compare.
    code, _, err = answer("rollout", "--target", str(cluster.target), "--yes")
    assert (code, err.splitlines()[-1][:15]) == (5, "Give event logs")


def test_a_value_of_set_goes_to_all_without_a_canary(cluster: Cluster, answer: Answer) -> None:
    assert step(cluster, answer, "--set", ASKED)["ring"] == "all"
    assert cluster.target.read_text().endswith("spark.aqePlugin.filter.buildTimeout 10\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--set", "spark.aqePlugin.filter.buildTimeout"], "write KEY=VALUE"),
        (
            ["--set", "spark.some.secret.key hunter2"],
            "--set: spark.some.secret.key (hidden): no value; write KEY=VALUE",
        ),
        (["--set", "spark.master=local"], "spark.master = local: not a key of the plugin (spark.aqePlugin.*)."),
        (
            ["--set", "filter.maxPassRate=0.5"],
            (
                "filter.maxPassRate = 0.5: not a key of the plugin (spark.aqePlugin.*); "
                "did you mean spark.aqePlugin.filter.maxPassRate?\n"
            ),
        ),
        (
            ["--set", "spark.aqePlugin.filter.maxPasRate=0.5"],
            (
                "spark.aqePlugin.filter.maxPasRate = 0.5: unknown key, the plugin ignores it; "
                "did you mean spark.aqePlugin.filter.maxPassRate?\n"
            ),
        ),
        (["--set", "spark.aqePlugin.filter.buildTimeout=0"], "buildTimeout = 0: "),
        (["--set", ASKED, "--set", ASKED], "given twice, as 10 and as 10."),
    ],
)
def test_a_value_that_the_plugin_refuses_begins_no_rollout(
    cluster: Cluster, answer: Answer, words: list[str], why: str
) -> None:
    code, _, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes", *words)
    assert (code, why in err) == (5, True), err
    assert answer("history", "--target", str(cluster.target), "--format", "json")[1] == ""


def test_the_words_that_began_a_rollout_go_on_with_it(cluster: Cluster, answer: Answer) -> None:
    words = ("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes", "--set")
    assert answer(*words, ASKED)[0] == 0
    code, out, err = answer(*words, ASKED)
    assert (code, "The rollout stays where it is" in err) == (0, True), out + err


def test_another_value_is_refused_while_a_rollout_is_under_way(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer, "--set", ASKED)
    words = ("rollout", str(cluster.logs), "--target", str(cluster.target), "--set")
    code, _, err = answer(*words, ASKED.replace("=10", "=20"))
    assert (
        code,
        f"rollout no. 1 ({ASKED.replace('=', ' = ')}) is under way, in the ring all. Let it end first, or take it "
        f"back: aqe-plugin rollback --target {cluster.target}." in err,
    ) == (7, True), err


def test_a_value_that_the_plugin_refuses_is_named_whatever_rollout_there_is(cluster: Cluster, answer: Answer) -> None:
    mistyped = "spark.aqePlugin.filter.buildTmeout"
    words = ("rollout", str(cluster.logs), "--target", str(cluster.target), "--set", f"{mistyped}=9")
    never = answer(*words)
    step(cluster, answer, "--set", ASKED)
    assert [never, answer(*words)] == [(5, "", never[2])] * 2
    assert f"{mistyped} = 9:" in never[2]


def test_a_value_that_is_already_set_begins_no_rollout(cluster: Cluster, answer: Answer) -> None:
    cluster.target.write_text("spark.aqePlugin.filter.buildTimeout 10\n")
    code, _, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target), "--set", ASKED, "--yes")
    assert (code, "Nothing to change" in err) == (0, True), err


@pytest.mark.parametrize(
    ("conf", "asked"),
    [
        ("", "spark.aqePlugin.filter.maxPassRate=0.70"),
        ("", "spark.aqePlugin.mode=apply"),
        ("spark.aqePlugin.filter.maxPassRate 0.5\n", "spark.aqePlugin.filter.maxPassRate=0.50"),
        ("spark.aqePlugin.mode observe\n", "spark.aqePlugin.mode=OBSERVE"),
    ],
)
def test_a_value_that_holds_already_begins_no_rollout_however_it_is_written(
    cluster: Cluster, answer: Answer, conf: str, asked: str
) -> None:
    cluster.target.write_text(f"spark.master yarn\n{conf}")
    code, _, err = answer("rollout", "--target", str(cluster.target), "--set", asked, "--yes")
    assert (code, "Nothing to change" in err) == (0, True), err
    assert cluster.target.read_text() == f"spark.master yarn\n{conf}"


@pytest.mark.parametrize(("before", "value"), [("apply", "OFF"), ("observe", "off"), ("off", "apply")])
def test_a_mode_that_logs_nothing_is_no_side_of_a_canary(
    cluster: Cluster, answer: Answer, before: str, value: str
) -> None:
    cluster.target.write_text(f"spark.aqePlugin.mode {before}\n")
    words = ("rollout", "--target", str(cluster.target), "--set", f"spark.aqePlugin.mode={value}", "--yes")
    code, _, err = answer(*words, "--canary-share", "0.1")
    assert code == 5
    assert all(one in err for one in ("--canary-share 0.1", f"spark.aqePlugin.mode = {value}"))
    assert answer(*words)[0] == 0


def test_a_share_of_a_cluster_that_only_observes_may_try_the_plugin(cluster: Cluster, answer: Answer) -> None:
    cluster.target.write_text("spark.aqePlugin.mode observe\n")
    words = ("--set", "spark.aqePlugin.mode=apply", "--canary-share", "0.1", "--yes")
    assert answer("rollout", "--target", str(cluster.target), *words)[0] == 0
    assert f"{CANARY_SET}mode" in cluster.target.read_text()


def test_values_are_begun_also_where_the_rollout_before_them_was_taken_back(cluster: Cluster, answer: Answer) -> None:
    words = ("rollout", "--target", str(cluster.target), "--yes", "--set")
    assert answer(*words, ASKED)[0] == 0
    assert answer("rollback", "--target", str(cluster.target), "--yes")[0] == 0
    code, _, err = answer(*words, "spark.aqePlugin.filter.maxPassRate=0.5")
    assert (code, "Rollout no. 1 is over: rolled back by aqe-plugin rollback" in err) == (0, True), err
    assert "filter.maxPassRate" in cluster.target.read_text()


def test_a_rollout_that_never_came_into_force_gives_way_to_values_that_are_asked_for(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("rollout", "--target", str(cluster.target), "--yes", "--set")

    def refused(*_: object) -> None:
        raise WriteError("no room")

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.rollout.next_steps.carry_out_held", refused)
        assert answer(*words, ASKED)[0] == 8
    assert "aqePlugin" not in cluster.target.read_text()
    code, _, err = answer(*words, "spark.aqePlugin.filter.maxPassRate=0.5")
    assert (code, "Rollout no. 1 is over: another one takes its place" in err) == (0, True), err
    assert "filter.maxPassRate" in cluster.target.read_text()
    assert "filter.buildTimeout" not in cluster.target.read_text()
    assert [step.ring for step in rollouts_of(FileStore(cluster.target))][-2:] == [Ring.OBSERVE, Ring.ALL]


def test_the_canarys_own_keys_are_no_values_to_try(cluster: Cluster, answer: Answer) -> None:
    code, _, err = answer("rollout", "--target", str(cluster.target), "--set", f"{CANARY_SET}filter.maxPassRate=0.5")
    assert (code, "rollout sets the canary's keys itself" in err) == (5, True), err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (RATE, 5, f"{RATE} = : no value; write KEY=VALUE"),
        (f"{RATE} 7", 5, f"{RATE} = 7: not allowed: expected a number from 0 to 1."),
        ("spark.executor.cores 4", 5, "spark.executor.cores = 4: not a key of the plugin (spark.aqePlugin.*)."),
        (f"{RATE[:-1]} 0.5", 5, f"{RATE[:-1]} = 0.5: unknown key, the plugin ignores it; did you mean {RATE}?"),
        (f"{CANARY_SET}filter.maxPassRate 0.5", 5, f"{CANARY_SET}filter.maxPassRate = 0.5: rollout sets the canary's"),
        (f"{RATE} \\u12", 4, "\\u without four hexadecimal digits; Spark refuses the whole file."),
    ],
)
def test_what_is_wrong_in_a_file_of_values_is_told_with_file_and_line(
    cluster: Cluster, answer: Answer, tmp_path: Path, line: str, code: int, said: str
) -> None:
    values = tmp_path / "values.conf"
    values.write_text(f"# calibrated\n\n{line}\n")
    left, _, err = answer("rollout", "--target", str(cluster.target), "--values", str(values))
    assert (left, f"--values {values}, line 3: {said}" in err) == (code, True), err


def test_a_rollout_in_a_conf_without_the_plugin_is_warned_of(cluster: Cluster, answer: Answer) -> None:
    words = ("rollout", "--target", str(cluster.target), "--set", ASKED, "--canary-share", "0.1")
    _, _, err = answer(*words)
    assert f"{cluster.target}: spark.plugins does not name the plugin, so a rollout changes nothing" in err
    cluster.target.write_text("spark.plugins com.acme.P,io.aqeplugin.AqePlugin\n")
    _, _, err = answer(*words)
    assert "spark.plugins" not in err


def test_a_step_says_when_it_takes_effect_and_a_rollout_that_is_over_says_so(cluster: Cluster, answer: Answer) -> None:
    words = ("rollout", "--target", str(cluster.target), "--yes")
    _, out, err = answer(*words, "--set", ASKED)
    assert "rollout no. 1: observe -> all" in out
    assert "given by --set or --values" in out
    assert f"Done: applications that start from now on read {cluster.target} as it is now." in err
    assert "Run rollout with the event logs, daily; aqe-plugin history" in err
    answer("rollback", "--target", str(cluster.target), "--yes")
    _, out, err = answer(*words)
    assert "all -> rolled back" in out
    # Nothing of what went back is shown as if it were made.
    assert "given by" not in out
    assert "Done. The rollout is over; aqe-plugin history shows every step." in err


def test_values_that_cannot_be_read_are_an_error_in_words(cluster: Cluster, answer: Answer) -> None:
    code, _, err = answer("rollout", "--target", str(cluster.target), "--values", "/no/such.conf")
    assert (code, "/no/such.conf" in err.splitlines()[-1]) == (4, True)
