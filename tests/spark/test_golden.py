"""Spark's query files are laid out as in a checkout of Spark, the chosen ones alone."""

from pathlib import Path
from zipfile import ZipFile

from tests.spark.golden import extract


def test_chosen_inputs_and_all_answers_are_extracted(tmp_path: Path) -> None:
    jar = tmp_path / "tests.jar"
    with ZipFile(jar, "w") as archive:
        for name in ("inputs/join.sql", "inputs/subquery/in/in-basic.sql", "inputs/cast.sql", "results/join.sql.out"):
            archive.writestr(f"sql-tests/{name}", name)
        archive.writestr("org/Other.class", "")
    assert extract(jar, tmp_path, ["*join*.sql", "subquery/*"]) == ["join.sql", "subquery/in/in-basic.sql"]
    folder = tmp_path / "sql" / "core" / "src" / "test" / "resources" / "sql-tests"
    there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert there == ["inputs/join.sql", "inputs/subquery/in/in-basic.sql", "results/join.sql.out"]
