"""`aqe.analyze(frame)` in a real Jupyter kernel, and its notebook in a real browser: `make test-notebook` runs it."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tests.site.probe import look_at, served
from tests.ui.browser import Browser

pytestmark = pytest.mark.e2e

_ROOT = Path(__file__).resolve().parents[2]
_CELLS = (
    """
import aqe_plugin
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.autoBroadcastJoinThreshold", "-1").config("spark.sql.shuffle.partitions", "2")
builder = builder.config("spark.aqePlugin.test.openGates", "true")
spark = aqe_plugin.configure(builder, mode="apply").getOrCreate()
aqe = aqe_plugin.AqePlugin(spark)
""",
    """
spark.range(400_000).selectExpr("id % 20000 AS item", "id AS value").write.parquet("sales")
spark.range(20_000).selectExpr("id AS item", "concat('n', id) AS name").write.parquet("items")
items = spark.read.parquet("items").where("name LIKE '%77'")
aqe.analyze(spark.read.parquet("sales").join(items, "item").where("value >= 0"))
""",
    "spark.stop()",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in _CELLS]
    made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}}
    client = NotebookClient(made, timeout=300, kernel_name="python3", resources=resources)
    client.execute(env={**os.environ, "PYTHONPATH": str(_ROOT)})
    return made


@pytest.fixture(scope="module")
def exported(notebook: nbformat.NotebookNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook as JupyterLab shows it."""
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    folder = tmp_path_factory.mktemp("exported")
    (folder / "notebook.html").write_text(page)
    return folder


def test_the_kernel_gives_the_analysis_as_html_and_as_text(notebook: nbformat.NotebookNode) -> None:
    (shown,) = (one for one in notebook.cells[1].outputs if one.output_type == "execute_result")
    assert set(shown.data) == {"text/html", "text/plain"}
    html, text = shown.data["text/html"], shown.data["text/plain"]
    for told in (
        "1 join decided",
        "predicted by price",
        "rows (99 %) that filters checked were removed",
        "worth a look",
    ):
        assert told in html
        assert told in text
    assert "<svg" in html
    assert "<script" not in html


def test_the_notebook_shows_the_head_and_its_bars(browser: Browser, exported: Path) -> None:
    seen = browser.open((exported / "notebook.html").as_uri())
    assert seen.text.index("predicted by price") < seen.text.index("Rows by table")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_analysis_is_no_wider_than_its_cell(browser: Browser, exported: Path, width: int) -> None:
    with served(exported) as address:
        (looked,) = look_at(browser, address, ["notebook.html"], width)
    assert looked.sideways <= 0
