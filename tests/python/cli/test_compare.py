"""``compare`` on real sessions: equal rows, and rows that differ by construction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Answer

Ran = subprocess.CompletedProcess[str]
Compare = Callable[..., Ran]

TABLES = """
spark.range(200_000).selectExpr("id % 20000 AS item", "id / 7 AS amount").createOrReplaceTempView("made_sales")
spark.range(20_000).selectExpr("id AS item", "concat('n', id) AS name").createOrReplaceTempView("made_items")
"""
# The name of a run, which only a fault of this test's own making lets a row see.
TELLING = """
from pyspark import TaskContext

spark.udf.register("told", lambda _: TaskContext.get().getLocalProperty("spark.job.description")[-3:], "string")
"""
JOIN = """
-- Prepared; and then; the query.
CREATE TEMPORARY VIEW sales AS SELECT * FROM parquet.`{folder}/sales`;
CREATE TEMPORARY VIEW items AS SELECT * FROM parquet.`{folder}/items` WHERE name LIKE '%77';
SELECT name, sum(amount) AS amount FROM sales JOIN items ON sales.item = items.item GROUP BY name ORDER BY name;
"""


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    conf = tmp_path / "conf"
    conf.mkdir()
    threshold = "spark.sql.autoBroadcastJoinThreshold 10k"
    (conf / "spark-defaults.conf").write_text(f"spark.master local[2]\nspark.driver.memory 1g\n{threshold}\n")
    environment = {**os.environ, "SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1", "COLUMNS": "200"}

    def run(*words: str) -> Ran:
        files = (
            str(tmp_path / "query.sql"),
            "--setup",
            str(tmp_path / "setup.py"),
            "--report",
            str(tmp_path / "found"),
        )
        command = [sys.executable, "-m", "aqe_plugin", "compare", *files, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    return run


@pytest.mark.spark
def test_a_query_of_a_file_is_compared_after_what_prepares_it(compare: Compare, tmp_path: Path) -> None:
    write = "".join(f"spark.table('made_{name}').write.parquet('{tmp_path}/{name}')\n" for name in ("sales", "items"))
    (tmp_path / "setup.py").write_text(TABLES + write)
    (tmp_path / "query.sql").write_text(JOIN.format(folder=tmp_path))
    ran = compare("--runs", "2", "--conf", "spark.aqePlugin.force=*=filtered_sort_merge")
    assert ran.returncode == 0, ran.stderr
    assert "Rows equal: 200 rows, compared by a checksum of every column" in ran.stdout
    assert "and in the order of name" in ran.stdout
    assert "1 of 1 joins changed" in ran.stdout
    assert "times as fast with the plugin" in ran.stdout
    off, apply = (line.split() for line in ran.stdout.splitlines() if line.split()[:1] in (["off"], ["apply"]))
    # Of tasks on two cores, and not of the driver.
    assert 0 < float(off[-2]) < 2 * float(off[1])
    assert 0 < float(apply[-2]) < 2 * float(apply[1])
    assert "id inner:item=item" in ran.stdout
    assert "--conf spark.aqePlugin.force=inner:item=item=leave_to_spark" in " ".join(ran.stderr.split())


@pytest.mark.spark
def test_rows_that_differ_are_loud_and_leave_a_file_to_report_them_with(compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(TELLING)
    (tmp_path / "query.sql").write_text(
        "SELECT a.id, told(a.id) AS told FROM range(9) a JOIN range(9) b ON a.id = b.id"
    )
    ran = compare("--format", "json")
    assert ran.returncode == 1, ran.stderr
    found = json.loads(ran.stdout)
    assert (found["rows"]["verdict"], found["offSeconds"], found["gain"]) == ("differ", [], None)
    assert any("'off'" in one for one in found["rows"]["examples"])
    report = (tmp_path / "found").read_text()
    for part in ("told(a.id)", "ROWS DIFFER", "==== mode off ====", "==== mode apply ====", '"joinId"'):
        assert part in report
    assert "Wrote " in ran.stderr
    assert "Please report it with that file" in ran.stderr


@pytest.mark.parametrize(
    ("text", "words", "code", "why"),
    [
        (None, (), 4, "the file cannot be read"),
        ("-- nothing\n;", (), 4, "there is no statement in it"),
        ("SELECT 1", ("--conf", "spark.master"), 2, "'spark.master' is not KEY=VALUE"),
        ("SELECT 1", ("--runs", "0"), 2, "--runs"),
    ],
)
def test_what_cannot_be_run_is_refused_before_spark_starts(
    answer: Answer, tmp_path: Path, text: str | None, words: tuple[str, ...], code: int, why: str
) -> None:
    path = tmp_path / "query.sql"
    if text is not None:
        path.write_text(text)
    found, out, err = answer("compare", str(path), *words)
    assert (found, out) == (code, "")
    assert why in err
    assert "Starting" not in err
