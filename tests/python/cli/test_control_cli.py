"""``install``, ``check``, ``rollback``, ``uninstall`` and ``history`` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.install.jars import PACKAGE_VERSION
from commands import Answer
from conf_states import state_of
from samples import COMPRESS, write_log

JAR = f"aqe-plugin-spark-4.1-{PACKAGE_VERSION}.jar"
MANIFEST = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
spec:
  type: Scala
"""


@pytest.fixture
def jar(tmp_path: Path) -> str:
    path = tmp_path / "jars" / JAR
    path.parent.mkdir()
    path.touch()
    return str(path)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "spark-defaults.conf"
    path.write_text("# theirs\nspark.plugins com.acme.P\n")
    return path


def test_install_without_yes_only_shows_the_change(conf: Path, jar: str, answer: Answer) -> None:
    before = conf.read_bytes()
    code, out, err = answer("install", "--target", str(conf), "--jar", jar)
    assert (code, err) == (0, f"Nothing was written; --yes makes the change.\n{NOT_READ_BY}\n")
    assert out.startswith(f"install {conf}: NOTHING WRITTEN (--yes writes)\n")
    assert "com.acme.P,io.aqeplugin.AqePlugin" in out
    assert "loads the plugin, after any plugins that are there" in out
    assert conf.read_bytes() == before


@pytest.mark.parametrize("listed", ["hdfs:///apps/{}", "local:///opt/spark/{}", "{folder}/{}", "file:{folder}/{}"])
def test_a_new_mode_keeps_the_jar_that_the_conf_lists(tmp_path: Path, jar: str, answer: Answer, listed: str) -> None:
    entry = listed.format(JAR, folder=Path(jar).parent)
    conf = tmp_path / "spark-defaults.conf"
    conf.write_text(f"spark.jars /a.jar,{entry}\nspark.plugins io.aqeplugin.AqePlugin\nspark.aqePlugin.mode apply\n")
    expected = conf.read_text().replace("mode apply", "mode off")
    assert answer("install", "--target", str(conf), "--mode", "off", "--yes")[0] == 0
    assert conf.read_text() == expected


def test_a_new_mode_of_a_manifest_needs_no_jar_here(tmp_path: Path, answer: Answer) -> None:
    manifest = tmp_path / "app.yaml"
    manifest.write_text(MANIFEST)
    target = ("--target", str(manifest))
    assert answer("install", *target, "--jar", f"local:///opt/{JAR}", "--yes")[0] == 0
    before = manifest.read_text()
    assert answer("install", *target, "--mode", "off", "--yes")[0] == 0
    assert manifest.read_text() == before.replace("observe", "off") != before


def test_nothing_is_installed_to_be_switched_off(conf: Path, answer: Answer) -> None:
    before = conf.read_bytes()
    code, out, err = answer("install", "--target", str(conf), "--mode", "off", "--yes")
    assert (code, out, conf.read_bytes()) == (7, "", before)
    assert "nothing to switch off: its spark.plugins does not name the plugin" in err


def test_a_listed_jar_that_is_gone_is_replaced(conf: Path, jar: str, answer: Answer) -> None:
    assert answer("install", "--target", str(conf), "--jar", jar, "--yes")[0] == 0
    Path(jar).unlink()
    _, out, _ = answer("install", "--target", str(conf), "--spark", "4.1", "--format", "diff")
    assert f"-spark.jars {jar}" in re.sub(" +", " ", out)


SECRETS = """\
spark.hadoop.fs.s3a.secret.key S3CRET
spark.ssl.keyPassword S3CRET
spark.jars https://ann:S3CRET@repo/a.jar,https://repo/b.jar?token=S3CRET
"""


@pytest.mark.parametrize("output", ["table", "json", "diff"])
def test_no_command_shows_a_secret_of_the_conf(conf: Path, jar: str, answer: Answer, output: str) -> None:
    conf.write_text(SECRETS)
    target = ("--target", str(conf))
    made = ("--yes", "--why", "as https://ann:S3CRET@wiki/page says")
    told = [answer("install", *target, "--jar", jar, "--format", output)]
    told += [answer("install", *target, "--jar", jar, *made)]
    told += [answer(command, *target, "--format", output) for command in ("uninstall", "rollback")]
    told += [answer("history", *target), answer("history", *target, "--format", "json"), answer("check", *target)]
    assert "S3CRET" not in "".join(out + err for _, out, err in told)
    assert "S3CRET" not in (conf.parent / ".aqe-plugin" / conf.name / "journal.jsonl").read_text()
    assert {code for code, _, _ in told} == {0}


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "https://ann:S3CRET@127.0.0.1:1/"),
        ("recommend", "http://ann:S3CRET@127.0.0.1:1/"),
        ("install", "--target", "x.conf", "--jar", "https://ann:S3CRET@h/a.jar"),
    ],
)
def test_no_error_repeats_a_password(words: tuple[str, ...], answer: Answer) -> None:
    code, out, err = answer(*words)
    assert code > 1
    assert "S3CRET" not in out + err


NOT_READ_BY = "An application that is submitted with --properties-file reads it only with --load-spark-defaults."


def test_install_names_keys_whose_values_the_plugin_does_not_take(conf: Path, jar: str, answer: Answer) -> None:
    conf.write_text("spark.aqePlugin.filter.maxPassRate 1.5\n")
    code, _, err = answer("install", "--target", str(conf), "--jar", jar)
    assert (code, f"{conf}: spark.aqePlugin.filter.maxPassRate = 1.5: " in err) == (0, True), err


def test_install_rollback_and_uninstall_restore_the_bytes(conf: Path, jar: str, answer: Answer) -> None:
    before, target = conf.read_bytes(), ("--target", str(conf))
    code, out, err = answer("install", *target, "--jar", jar, "--yes", "--why", "ring 1")
    assert out.startswith(f"install {conf}: written\n")
    assert (code, err.startswith("Done: "), "aqe-plugin rollback" in err, NOT_READ_BY in err) == (0, True, True, True)
    code, out, err = answer("install", *target, "--jar", jar, "--yes")
    assert (code, out, err.startswith("Nothing to do: ")) == (0, "", True)
    code, out, _ = answer("check", *target)
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()] == ["conf", "plugin", "jar", "mode"]
    assert f"{jar} (version {PACKAGE_VERSION}, for Spark 4.1, exists)" in out

    assert answer("install", *target, "--jar", jar, "--mode", "apply", "--yes")[0] == 0
    assert answer("rollback", *target, "--yes")[0] == 0
    assert state_of(FileStore(conf)).mode == "observe"
    assert answer("install", *target, "--jar", jar, "--mode", "off", "--yes")[0] == 0
    assert state_of(FileStore(conf)).mode == "off"
    assert answer("rollback", *target, "--yes")[0] == 0
    assert answer("uninstall", *target, "--yes")[0] == 0
    assert conf.read_bytes() == before
    assert answer("uninstall", *target, "--yes")[2].startswith("Nothing to do: ")

    records = [json.loads(line) for line in answer("history", *target, "--format", "json")[1].splitlines()]
    assert [record["action"] for record in records] == [
        *("install", "install", "rollback", "install", "rollback", "uninstall")
    ]
    assert records[0]["why"] == "ring 1"
    assert records[2]["undoes"] == 2
    table = answer("history", *target)[1]
    assert "rollback of no. 2" in table
    assert "ring 1" in table
    assert [record["undone"] for record in records] == [False, True, False, True, False, False]
    assert [line.split(", ")[1].split("  ")[0] for line in table.splitlines() if line.startswith("no. ")] == [
        *("done", "undone since", "done", "undone since", "done", "done")
    ]


@pytest.mark.parametrize("share", [(), ("--canary-share", "0.1")])
def test_the_history_of_a_rollout_that_was_rolled_back_says_so(
    conf: Path, jar: str, answer: Answer, share: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    target = ("--target", str(conf))
    answer("install", *target, "--jar", jar, "--yes")
    answer("rollout", *target, "--set", "spark.aqePlugin.filter.maxPassRate=0.5", *share, "--yes")
    told = answer("history", *target)[1]
    assert re.search(r"^no\. 2  rollout, done  ", told, re.MULTILINE)
    assert "no longer in force" not in told
    answer("rollback", *target, "--yes")
    told = answer("history", *target)[1]
    assert re.search(r"^no\. 2  rollout, undone since  ", told, re.MULTILINE)
    *_, last, why = told.splitlines()
    assert last == "rollout no. 1: no longer in force"
    assert why.startswith(f"  why      rolled back by aqe-plugin rollback: {conf}: ")
    assert "asked" not in told


def test_after_uninstall_history_names_it_and_check_calls_keys_that_stayed_left_over(
    conf: Path, jar: str, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    target = ("--target", str(conf))
    answer("install", *target, "--jar", jar, "--yes")
    answer("rollout", *target, "--set", "spark.aqePlugin.filter.maxPassRate=0.5", "--yes")
    with conf.open("a") as file:
        file.write("spark.aqePlugin.filter.minProbeRows 5\n")
    answer("uninstall", *target, "--yes")
    *_, why = answer("history", *target)[1].splitlines()
    assert why.startswith(f"  why      rolled back by aqe-plugin uninstall: {conf}: ")
    out = answer("check", *target)[1]
    assert "not installed" in out
    assert re.search(r"^remark  spark\.aqePlugin\.filter\.minProbeRows +5: left over, no effect$", out, re.MULTILINE)
    assert " mode " not in out


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_uninstall_names_the_keys_of_the_plugin_that_it_leaves(
    conf: Path, jar: str, answer: Answer, yes: tuple[str, ...]
) -> None:
    target = ("--target", str(conf))
    answer("install", *target, "--jar", jar, "--yes")
    rate = "spark.aqePlugin.filter.maxPassRate=0.5"
    assert answer("rollout", *target, "--set", rate, "--canary-share", "0.1", "--yes")[0] == 0
    conf.write_text(conf.read_text().replace("canary.share 0.1", "canary.share 0.2"))
    code, _, err = answer("uninstall", *target, *yes)
    left = "Left, because somebody else set or changed them: spark.aqePlugin.canary.share = 0.2. --purge removes"
    assert (code, left in err) == (0, True), err
    assert "Left" not in answer("uninstall", *target, "--purge")[2]


def test_keys_and_times_are_not_broken_on_a_narrow_terminal(
    conf: Path, jar: str, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, shown, _ = answer("install", "--target", str(conf), "--jar", jar, "--yes", "--why", "ring 1")
    _, told, _ = answer("history", "--target", str(conf))
    assert all(f"  {key}\n" in shown for key in ("spark.jars", "spark.plugins", "spark.aqePlugin.mode"))
    assert re.search(r"^no\. 1  install, done  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00  \S+@\S+$", told, re.MULTILINE)
    assert "  added   spark.aqePlugin.mode\n" in told
    assert "  why     ring 1\n" in told


def test_the_diff_format_is_a_diff_of_the_file(conf: Path, jar: str, answer: Answer) -> None:
    _, out, _ = answer("install", "--target", str(conf), "--jar", jar, "--format", "diff")
    assert out.splitlines() == [
        f"--- {conf}",
        f"+++ {conf}",
        "@@ -1,2 +1,4 @@",
        " # theirs",
        "-spark.plugins com.acme.P",
        "+spark.plugins com.acme.P,io.aqeplugin.AqePlugin",
        f"+spark.jars {jar}",
        "+spark.aqePlugin.mode observe",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_diff_has_no_secret_of_a_line_that_goes_on_or_of_an_option_of_java(
    conf: Path, jar: str, answer: Answer, end: str
) -> None:
    lines = [
        "my.password \\",
        "  S3CRET1\\",
        "  S3CRET2\\",
        "  S3CRET3",
        "spark.plugins com.acme.P",
        "spark.driver.extraJavaOptions -Da=b -Dmy.password=S3CRET",
        "spark.app.name nightly",
    ]
    conf.write_bytes("".join(line + end for line in lines).encode())
    _, out, _ = answer("install", "--target", str(conf), "--jar", jar, "--format", "diff")
    assert "S3CRET" not in out
    shown = [line.rstrip("\r").removesuffix("\\r") for line in out.split("\n")]
    assert shown[3:6] == [" (hidden)"] * 3
    assert any(line.startswith(" spark.driver.extraJavaOptions -Da=b -Dmy.password=(hidden)") for line in shown)
    assert any(line.startswith(" spark.app.name nightly") for line in shown)


def test_json_shows_the_changes_and_whether_they_were_made(conf: Path, jar: str, answer: Answer) -> None:
    words = ("install", "--target", str(conf), "--jar", jar, "--format", "json")
    shown = json.loads(answer(*words)[1])
    assert (shown["applied"], shown["nothingToDo"]) == (False, False)
    assert shown["changes"][2] == {
        "key": "spark.aqePlugin.mode",
        "new": "observe",
        "why": "it decides and records, and changes no plan",
    }
    assert json.loads(answer(*words, "--yes")[1])["applied"] is True
    again = json.loads(answer(*words, "--yes")[1])
    assert (again["applied"], again["nothingToDo"], again["changes"]) == (False, True, [])


def test_sparks_folder_and_the_environment_name_the_file(
    tmp_path: Path, jar: str, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark" / "conf").mkdir(parents=True)
    made = tmp_path / "spark" / "conf" / "spark-defaults.conf"
    assert answer("install", "--target", str(tmp_path / "spark"), "--jar", jar, "--yes")[0] == 0
    assert made.is_file()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert "install, done" in answer("history")[1]
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert str(tmp_path / "spark-defaults.conf") in answer("history")[2]


def test_install_takes_the_jar_for_the_spark_of_the_conf(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "spark"
    for folder in ("conf", "jars"):
        (home / folder).mkdir(parents=True)
    (home / "jars" / "spark-core_2.13-4.0.5.jar").touch()
    asked: list[str] = []

    def picked(version: str) -> Path:
        asked.append(version)
        return tmp_path / JAR

    monkeypatch.setattr("aqe_plugin.install.chosen_jar.jar_for", picked)
    answer("install", "--target", str(home))
    answer("install", "--target", str(home / "conf" / "spark-defaults.conf"))
    answer("install", "--target", str(home), "--spark", "4.1")
    assert asked == ["4.0.5", "4.0.5", "4.1"]


def test_a_check_of_a_conf_without_the_plugin_is_not_an_error(conf: Path, answer: Answer) -> None:
    code, out, _ = answer("check", "--target", str(conf))
    assert (code, out.splitlines()[1].split()[:4]) == (0, ["remark", "plugin", "not", "installed."])


def test_a_check_flags_unknown_keys_bad_values_and_a_missing_jar(conf: Path, jar: str, answer: Answer) -> None:
    answer("install", "--target", str(conf), "--jar", jar, "--yes")
    conf.write_text(conf.read_text() + "spark.aqePlugin.filter.maxBytes 9g\nspark.aqePlugin.filer.maxBytes 1m\n")
    code, out, _ = answer("check", "--target", str(conf))
    assert code == 5
    assert "not allowed: expected a number of bytes from 1k to 1g" in out
    assert "unknown key, the plugin ignores it; did you mean spark.aqePlugin.filter.maxBytes?" in out
    Path(jar).unlink()
    code, out, _ = answer("check", "--target", str(conf))
    assert code == 3
    assert f"{jar} does not exist: every application fails to start." in out


def test_a_check_shows_hostile_text_as_text(conf: Path, answer: Answer) -> None:
    conf.write_bytes(b"spark.aqePlugin.x a\x1b[31m[red]\xff\n")
    _, out, _ = answer("check", "--target", str(conf))
    assert "a\\x1b[31m[red]\\udcff" in out


def test_history_of_an_untouched_file_says_so(conf: Path, answer: Answer) -> None:
    journal = conf.parent / ".aqe-plugin" / conf.name / "journal.jsonl"
    said = f"{conf}: no change is recorded on this machine (journal: {journal}).\n"
    assert answer("history", "--target", str(conf)) == (0, "", said)


# errors


def test_without_a_target_the_error_asks_for_one(answer: Answer) -> None:
    code, out, err = answer("history")
    assert (code, out, "--target" in err) == (5, "", True)


@pytest.mark.parametrize("command", ["install", "check", "rollback", "uninstall"])
def test_a_folder_instead_of_a_file_gives_one_line(command: str, tmp_path: Path, answer: Answer) -> None:
    code, _, err = answer(command, "--target", str(tmp_path))
    assert code == 4
    assert f"{tmp_path}: a folder, not a file. Give the file in it, e.g. {tmp_path}/spark-defaults.conf.\n" in err


@pytest.mark.parametrize("codec", ["", "zstd"])
def test_an_event_log_is_refused_as_a_target(codec: str, jar: str, tmp_path: Path, answer: Answer) -> None:
    log = write_log(tmp_path / "app-1")
    log.write_bytes(COMPRESS[codec](log.read_bytes()))
    code, out, err = answer("install", "--target", str(log), "--jar", jar, "--yes")
    assert (code, out) == (4, "")
    assert (err.count("\n"), str(log) in err, "event log" in err) == (1, True, True)


def test_an_unknown_spark_line_gives_one_line(conf: Path, answer: Answer) -> None:
    code, _, err = answer("install", "--target", str(conf), "--spark", "3.1")
    assert code == 3
    assert "has no jar for Spark 3.1; it has " in err or "found no jar of its own in " in err


def test_a_missing_or_foreign_jar_gives_one_line(conf: Path, tmp_path: Path, answer: Answer) -> None:
    gone, other = str(tmp_path / JAR), str(tmp_path / "other.jar")
    code, out, err = answer("install", "--target", str(conf), "--jar", gone)
    assert (code, out, gone in err, "--jar" in err) == (3, "", True, True)
    Path(other).touch()
    code, out, err = answer("install", "--target", str(conf), "--jar", other)
    assert (code, out, other in err, "aqe-plugin path jar" in err) == (5, "", True, True)


def test_a_jar_for_another_line_than_requested_gives_one_line(conf: Path, jar: str, answer: Answer) -> None:
    code, _, err = answer("install", "--target", str(conf), "--jar", jar, "--spark", "4.0.1")
    assert (code, jar in err, "4.0.1" in err, err.count("\n")) == (5, True, True, 1)


def test_a_manifest_needs_a_jar_of_its_image(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(MANIFEST)
    code, _, err = answer("install", "--target", str(path))
    assert code == 5
    assert err.startswith(f"{path}: Spark runs in a container image, and this machine's jar is not in it. Put it there")
    assert answer("install", "--target", str(path), "--jar", f"local:///opt/{JAR}", "--yes")[0] == 0
    assert path.read_text() == MANIFEST.replace(
        "  type",
        "  sparkConf:\n"
        f'    spark.jars: "local:///opt/{JAR}"\n'
        '    spark.plugins: "io.aqeplugin.AqePlugin"\n'
        '    spark.aqePlugin.mode: "observe"\n'
        "  type",
    )
    assert "not on this machine, so not checked" in answer("check", "--target", str(path))[1]
    answer("uninstall", "--target", str(path), "--yes")
    assert path.read_text() == MANIFEST


def test_malformed_yaml_and_a_manifest_of_another_kind_are_one_line(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "app.yaml"
    path.write_text("a: [\n")
    code, _, err = answer("check", "--target", str(path))
    assert (code, len(err.splitlines()), ": not YAML: " in err) == (4, 1, True)
    path.write_text("kind: Deployment\n")
    code, _, err = answer("check", "--target", str(path))
    assert (code, err.startswith(f"{path}: holds Deployment; expected a SparkApplication")) == (4, True)


def test_a_conflict_is_exit_code_7_and_nothing_to_roll_back_is_9(conf: Path, jar: str, answer: Answer) -> None:
    assert answer("rollback", "--target", str(conf))[0] == 9
    conf.write_text("spark.aqePlugin.mode aply\n")
    code, _, err = answer("install", "--target", str(conf), "--jar", jar, "--yes")
    assert (code, len(err.splitlines())) == (7, 1)


@pytest.mark.parametrize("yes", [["--yes"], []], ids=["done", "proposed"])
def test_a_missing_folder_is_exit_code_4(tmp_path: Path, jar: str, answer: Answer, yes: list[str]) -> None:
    code, _, err = answer("install", "--target", str(tmp_path / "no" / "x.conf"), "--jar", jar, *yes)
    assert (code, len(err.splitlines())) == (4, 1)
    assert err.startswith(f"{tmp_path / 'no'}: no such folder. ")


@pytest.mark.parametrize("command", ["check", "rollback", "uninstall", "history"])
def test_no_command_takes_a_missing_folder_for_an_untouched_conf(command: str, tmp_path: Path, answer: Answer) -> None:
    code, out, err = answer(command, "--target", str(tmp_path / "no" / "spark-defaults.conf"))
    assert (code, out, err.startswith(f"{tmp_path / 'no'}: no such folder. ")) == (4, "", True), err


@pytest.mark.parametrize(("name", "is_read"), [("spark-defaults.conf", True), ("spark-default.conf", False)])
def test_install_says_when_spark_will_not_read_the_file_that_it_makes(
    name: str, is_read: bool, tmp_path: Path, jar: str, answer: Answer
) -> None:
    words = ("install", "--target", str(tmp_path / name), "--jar", jar)
    note = answer(*words)[1].splitlines()[1]
    assert note.strip().startswith("a new file")
    assert ("only by spark-submit --properties-file" in note) is not is_read
    assert answer(*words, "--yes")[0] == 0
    assert "a new file" not in answer(*words, "--mode", "apply")[1]


@pytest.mark.parametrize("command", ["install", "check", "rollback", "uninstall", "history"])
def test_every_command_has_help(command: str, answer: Answer) -> None:
    code, out, _ = answer(command, "--help")
    assert (code, "Usage:" in out, "--target" in out) == (0, True, True)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("Kubernetes:spark/configmap/conf", "an address begins with kubernetes:, in small letters"),
        (" kubernetes:spark/configmap/conf", "an address begins with kubernetes:, in small letters"),
    ],
)
def test_an_address_that_is_none_is_no_file(address: str, why: str, answer: Answer) -> None:
    code, _, err = answer("check", "--target", address)
    assert (code, why in err) == (5, True), err


def test_a_file_that_is_no_text_is_no_conf(conf: Path, answer: Answer) -> None:
    conf.write_bytes(bytes(range(256)))
    code, out, err = answer("check", "--target", str(conf))
    assert (code, out, str(conf) in err) == (4, "", True)


def test_a_real_run_of_a_conf_without_the_plugin_starts_nothing(
    conf: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = answer("check", "--run", "--target", str(conf))
    assert (code, "Starting Spark" in err) == (3, False), err
    assert "not installed" in out
    conf.unlink()
    assert "does not exist" in answer("check", "--run", "--target", str(conf))[1]
