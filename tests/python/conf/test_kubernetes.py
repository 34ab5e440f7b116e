"""Kubernetes files: found, changed line by line, or refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.conf.stores.file_store import parse_target
from aqe_plugin.conf.syntax.kubernetes import parse_kubernetes
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError, TargetError
from aqe_plugin.install.plan import plan_install

MANIFEST = """\
# The nightly job.
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: nightly}   # flow style stays
spec:
  type: Python
  sparkVersion: "4.1.0"
  sparkConf:
    # ours
    spark.plugins: com.acme.P  # theirs
    'spark.executor.instances': "2"

  driver:
    cores: 1
"""
CONFIGMAP = """\
apiVersion: v1
kind: Service
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: spark
data:
  other: "x: y"
  spark-defaults.conf: |  # read by the driver
    # a note

    spark.plugins   com.acme.P,\\
                    com.acme.Q
    spark.master=yarn


  log4j2.properties: |
    rootLogger.level = info
"""
BARE = MANIFEST.replace("    # ours\n", "").split("  sparkConf:")[0] + "  driver:\n    cores: 1\n"


def parsed(text: str) -> TargetConf:
    return parse_kubernetes(text, "app.yaml")


def refused(text: str, error: type[TargetError | ConflictError]) -> str:
    with pytest.raises(error) as caught:
        parsed(text)
    return str(caught.value)


def test_a_manifest_changes_only_on_the_lines_of_the_keys() -> None:
    conf = parsed(MANIFEST)
    assert (conf.get("spark.plugins"), conf.spark_version) == ("com.acme.P", "4.1.0")
    changed = conf.with_value("spark.plugins", "com.acme.P,io.X").with_value("spark.aqePlugin.mode", "off")
    assert changed.render().decode() == MANIFEST.replace("com.acme.P", "com.acme.P,io.X").replace(
        '"2"\n', '"2"\n    spark.aqePlugin.mode: "off"\n'
    )
    undone = changed.without("spark.aqePlugin.mode").with_value("spark.plugins", "com.acme.P")
    assert undone.render().decode() == MANIFEST


def test_spark_conf_is_added_to_a_manifest_and_removed_again() -> None:
    changed = parsed(BARE).with_value("spark.a", "1").with_value("spark.b", "x: y # z")
    assert changed.items() == {"spark.a": "1", "spark.b": "x: y # z"}
    assert '  sparkConf:\n    spark.a: "1"\n    spark.b: "x: y # z"\n  type: Python\n' in changed.render().decode()
    assert changed.without("spark.a").without("spark.b").render().decode() == BARE


def test_an_empty_spark_conf_is_filled() -> None:
    changed = parsed(BARE.replace("  driver:", "  sparkConf:\n  driver:")).with_value("spark.a", "1")
    assert '  sparkConf:\n    spark.a: "1"\n  driver:\n' in changed.render().decode()


def test_a_scheduled_application_has_its_conf_in_its_template() -> None:
    text = (
        "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\n"
        "spec:\n  schedule: '@daily'\n  template:\n    sparkConf:\n      spark.a: '1'"
    )
    changed = parsed(text).with_value("spark.b", "2")
    assert changed.render().decode() == text + '\n      spark.b: "2"'
    assert changed.without("spark.b").render().decode() == text


def test_a_manifest_of_apaches_operator_is_read() -> None:
    text = (
        "apiVersion: spark.apache.org/v1\nkind: SparkApplication\n"
        "spec:\n  sparkConf:\n    spark.a: b\n  runtimeVersions:\n    sparkVersion: 4.0.1\n"
    )
    assert (parsed(text).get("spark.a"), parsed(text).spark_version) == ("b", "4.0.1")


def test_status_remarks_on_a_value_that_is_not_a_string() -> None:
    conf = parsed(MANIFEST.replace('"2"', "2"))
    assert conf.remarks() == (
        "spark.executor.instances: 2 is not a string in YAML, and Kubernetes refuses it: put it in quotes.",
    )


def test_a_configmap_changes_only_inside_its_block() -> None:
    conf = parsed(CONFIGMAP)
    assert conf.items() == {"spark.plugins": "com.acme.P,com.acme.Q", "spark.master": "yarn"}
    changed = conf.with_value("spark.plugins", "com.acme.P,com.acme.Q,io.X").with_value("spark.a", "b")
    assert changed.render().decode() == CONFIGMAP.replace("com.acme.Q", "com.acme.Q,io.X").replace(
        "master=yarn\n", "master=yarn\n    spark.a=b\n"
    )
    undone = changed.without("spark.a").with_value("spark.plugins", "com.acme.P,com.acme.Q")
    assert undone.render().decode() == CONFIGMAP


@pytest.mark.parametrize("text", [MANIFEST, CONFIGMAP, BARE])
def test_windows_line_ends_stay(text: str) -> None:
    windows = text.replace("\n", "\r\n")
    changed = parsed(windows).with_value("spark.a", "b")
    assert changed.get("spark.a") == "b"
    assert "\n" not in changed.render().decode().replace("\r\n", "")
    assert changed.without("spark.a").render().decode() == windows


@pytest.mark.parametrize("text", [MANIFEST, CONFIGMAP, BARE])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\n# end"])
def test_adding_and_removing_a_key_restores_the_bytes_for_any_file_end(text: str, ending: str) -> None:
    whole = text.rstrip("\n") + ending
    assert parsed(whole).with_value("spark.a", "b").without("spark.a").render().decode() == whole


# Each value is parsed as YAML four times.
@settings(max_examples=30)
@given(st.text(max_size=20).map(str.strip), st.sampled_from([MANIFEST, BARE]))
def test_any_value_is_read_back_from_a_manifest(value: str, text: str) -> None:
    if not value.isprintable():
        return
    changed = parsed(text).with_value("spark.a", value)
    assert changed.items() == {**parsed(text).items(), "spark.a": value}
    assert changed.without("spark.a").render().decode() == text


def test_invalid_yaml_is_refused_with_its_line() -> None:
    assert refused("spec:\n  a: {{ .Values.x }\n", TargetError).startswith("app.yaml, line 3: not YAML: ")


def test_yaml_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(TargetError, match=r"m\.yaml: not Kubernetes YAML: mappings and lists are nested too deeply"):
        parse_kubernetes("a: " + "[" * 100_000, "m.yaml")


def test_a_manifest_of_another_kind_is_refused_by_name() -> None:
    text = "kind: Deployment\nmetadata:\n  name: web\n---\nkind: ConfigMap\nmetadata:\n  name: spark\ndata:\n  a: b\n"
    said = refused(text, TargetError)
    assert all(one in said for one in ("app.yaml", "Deployment web", "ConfigMap spark", "SparkApplication"))
    assert refused("", TargetError).startswith("app.yaml: holds nothing; expected ")


def test_a_spark_application_of_an_unknown_api_group_is_refused() -> None:
    assert "holds SparkApplication x" in refused(
        "apiVersion: other/v1\nkind: SparkApplication\nmetadata: {name: x}\nspec:\n  sparkConf: {}\n", TargetError
    )


def test_several_confs_in_one_file_are_refused() -> None:
    assert "SparkApplication nightly" in refused(MANIFEST + "---\n" + MANIFEST, ConflictError)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  sparkConf:\n", "  sparkConf: &conf\n", "app.yaml, line 8: sparkConf is written in braces or has an anchor"),
        ("    # ours\n", "    <<: {}\n", "app.yaml, line 9: sparkConf holds more than keys with plain values"),
        (
            "    # ours\n",
            "    spark.plugins: x\n",
            "app.yaml: sparkConf holds spark.plugins twice, which YAML forbids.",
        ),
        ('"2"', "[2]", "app.yaml, line 11: sparkConf holds more than keys with plain values"),
    ],
)
def test_yaml_that_cannot_be_changed_line_by_line_is_refused(old: str, new: str, message: str) -> None:
    assert refused(MANIFEST.replace(old, new), ConflictError).startswith(message)


def test_a_value_over_several_lines_is_not_changed() -> None:
    conf = parsed(MANIFEST.replace("com.acme.P  # theirs", ">-\n      com.acme.P"))
    assert conf.get("spark.plugins") == "com.acme.P"
    with pytest.raises(ConflictError) as error:
        conf.with_value("spark.plugins", "x")
    assert str(error.value).startswith("app.yaml, line 10: spark.plugins ")


def test_jars_that_the_operator_lists_itself_are_refused() -> None:
    conf = parsed(MANIFEST.replace("  driver:", "  deps:\n    jars: [a.jar]\n  driver:"))
    with pytest.raises(ConflictError, match=r"spec\.deps\.jars lists jars, which override spark\.jars\. Move them"):
        plan_install(conf, "local:///x/aqe-plugin-spark-4.1-0.1.0.jar", None, "app.yaml")


def test_several_jars_of_an_application_of_apaches_operator_are_refused() -> None:
    apache = MANIFEST.replace("sparkoperator.k8s.io/v1beta2", "spark.apache.org/v1")
    one, two = (parsed(apache.replace("  driver:", f"  jars: {jars}\n  driver:")) for jars in ("a.jar", "a.jar,b.jar"))
    assert plan_install(one, "local:///x/aqe-plugin-spark-4.1-0.1.0.jar", None, "app.yaml")[1]
    with pytest.raises(ConflictError, match=r"spec\.jars lists several jars, which spark\.jars overrides\. Leave one"):
        plan_install(two, "local:///x/aqe-plugin-spark-4.1-0.1.0.jar", None, "app.yaml")


def test_an_immutable_or_folded_configmap_is_refused() -> None:
    assert "immutable" in refused(CONFIGMAP + "immutable: true\n", ConflictError)
    folded = CONFIGMAP.replace("conf: |  # read", "conf: >  # read")
    assert refused(folded, ConflictError).startswith(
        "app.yaml, line 10: spark-defaults.conf is not written as a literal block"
    )


def test_an_error_in_the_conf_of_a_configmap_has_its_line() -> None:
    assert refused(CONFIGMAP.replace("=yarn", "=\\u12"), TargetError).startswith(
        "app.yaml, spark-defaults.conf from line 11, line 5: \\u without four hexadecimal digits"
    )


def test_missing_yaml_and_yaml_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(TargetError) as error:
        parse_target(Path("app.yaml"), None)
    assert "app.yaml" in str(error.value)
    with pytest.raises(TargetError, match=r"app\.yaml: byte 2 is not UTF-8"):
        parse_target(Path("app.yaml"), b"a:\xff")
