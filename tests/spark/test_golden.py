"""Spark's query files and tables are laid out as in a checkout of Spark, of the queries the chosen ones alone."""

from pathlib import Path
from zipfile import ZipFile

from tests.spark.golden import RESOURCES, extract


def test_chosen_inputs_and_all_answers_are_extracted(tmp_path: Path) -> None:
    jar = tmp_path / "tests.jar"
    with ZipFile(jar, "w") as archive:
        for name in ("inputs/join.sql", "inputs/subquery/in/in-basic.sql", "inputs/cast.sql", "results/join.sql.out"):
            archive.writestr(f"sql-tests/{name}", name)
        archive.writestr("test-data/postgresql/agg.data", "1")
        archive.writestr("org/Other.class", "")
    assert extract(jar, tmp_path, ["*join*.sql", "subquery/*"]) == ["join.sql", "subquery/in/in-basic.sql"]
    assert (tmp_path / RESOURCES / "test-data" / "postgresql" / "agg.data").is_file()
    folder = tmp_path / RESOURCES / "sql-tests"
    there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert there == ["inputs/join.sql", "inputs/subquery/in/in-basic.sql", "results/join.sql.out"]
