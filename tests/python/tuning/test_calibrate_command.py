"""``calibrate`` on a real session, and ``rollout --values`` with what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest

from aqe_plugin.conf.keys import PREFIX, conf_keys
from commands import Answer
from tests.extent import only_in_test_all
from tuned_cluster import Cluster, step


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("calibrate")
    conf = folder / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text("spark.master local[2]\nspark.driver.memory 1g\n")
    environment = {**os.environ, "SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder)}
    words = ["calibrate", "--rows", "20000", "--minutes", "0", "--format", "json", "--plot", str(folder / "fit.svg")]
    ran = subprocess.run(
        [sys.executable, "-m", "aqe_plugin", *words], env=environment, capture_output=True, text=True, check=False
    )
    return folder, ran


@only_in_test_all
@pytest.mark.spark
def test_calibrate_measures_every_coefficient_of_the_price(
    calibrated: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, ran = calibrated
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    keys = {one["key"] for one in found["coefficients"]}
    priced = {key.removeprefix(PREFIX) for key in conf_keys() if key.startswith(f"{PREFIX}cost.")} - {"cost.tieRatio"}
    assert keys == {PREFIX + key for key in priced if not key.startswith("cost.engine")}
    for one in found["coefficients"]:
        assert one["low"] <= one["value"] <= one["high"]
    # Every way to run a query counts: none ran as another option.
    assert "Left out" not in ran.stderr
    assert len(found["points"]) == 36


@only_in_test_all
@pytest.mark.spark
def test_calibrate_draws_its_fit_and_leaves_no_table(
    calibrated: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, ran = calibrated
    assert ran.returncode == 0, ran.stderr
    assert Xml.parse(folder / "fit.svg").getroot().tag.endswith("svg")
    assert not list(folder.glob("aqe-plugin-calibrate-*"))
    assert "Round 3, after " in ran.stderr


@pytest.mark.simulation
def test_apply_takes_the_conf_lines_of_a_calibration(cluster: Cluster, answer: Answer, tmp_path: Path) -> None:
    values = tmp_path / "calibrated.conf"
    values.write_text(f"{PREFIX}cost.shuffleNanosPerRow 180\n{PREFIX}cost.hashProbeNanosPerRow 21\n")
    assert step(cluster, answer, "--values", str(values))["ring"] == "all"
    text = cluster.target.read_text()
    assert f"{PREFIX}cost.shuffleNanosPerRow 180\n" in text
    assert f"{PREFIX}cost.hashProbeNanosPerRow 21\n" in text


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (None, 4, "the file cannot be read"),
        ("# nothing\n", 4, "no line with a key and a value"),
        (f"{PREFIX}cost.shuffleNanosPerRow -1\n", 5, "shuffleNanosPerRow = -1: not allowed"),
        ("spark.master local\n", 5, "spark.master = local: not a key of the plugin"),
    ],
)
def test_a_file_of_values_that_cannot_be_used_is_refused(
    cluster: Cluster, answer: Answer, tmp_path: Path, text: str | None, code: int, why: str
) -> None:
    values = tmp_path / "values.conf"
    if text is not None:
        values.write_text(text)
    before = cluster.target.read_bytes()
    found, _, err = answer("rollout", "--target", str(cluster.target), "--values", str(values), "--yes")
    assert (found, cluster.target.read_bytes()) == (code, before)
    assert why in err
