"""The outcome as JUnit XML, beside the reports of the other tests."""

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from tests.spark import jvm
from tests.spark.judge import Problem
from tests.spark.report import Report
from tests.spark.suites import Turn

_FOLDER = jvm.ROOT / ".build" / "reports"


def write(outcomes: Iterable[tuple[Turn, Report, Sequence[Problem]]]) -> None:
    """One file per suite and mode. A listed failure counts as passed: it is what is expected."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for turn, report, problems in outcomes:
        root = ElementTree.ElementTree(suite(turn, report, problems))
        root.write(
            _FOLDER / f"spark-{turn.line}-{turn.mode.value}-{turn.suite.name}.xml",
            encoding="utf-8",
            xml_declaration=True,
        )


def suite(turn: Turn, report: Report, problems: Sequence[Problem]) -> ElementTree.Element:
    """One `testsuite`, with one more test for what is wrong with the run as a whole."""
    by_test: dict[str, list[Problem]] = {}
    for problem in problems:
        by_test.setdefault(problem.test, []).append(problem)
    skipped = {test.name for test in report.tests if test.result in ("ignored", "canceled")}
    names = list(dict.fromkeys([test.name for test in report.tests] + list(by_test)))
    top = ElementTree.Element("testsuite", name=str(turn), tests=str(len(names)))
    top.set("failures", str(len(by_test)))
    top.set("skipped", str(len(skipped - set(by_test))))
    top.set("errors", "0")
    for name in names:
        case = ElementTree.SubElement(top, "testcase", classname=str(turn), name=name or "(the run)")
        for problem in by_test.get(name, []):
            text = _printable(problem.detail)
            ElementTree.SubElement(case, "failure", message=_printable(problem.what)).text = text
        if name in skipped and name not in by_test:
            ElementTree.SubElement(case, "skipped")
    return top


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(
        c for c in text if c in "\n\t" or (c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff")
    )
