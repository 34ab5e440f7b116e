"""`docs/predicates.md`: which predicates reach which scan, as found by a run."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from workloads.predicates.cells import FORMS, JOINS, PLACES, SIDES
from workloads.predicates.run import Finding, Scan

PAGE = Path("docs") / "predicates.md"

_TEXT = Path(__file__).with_name("page.md")


def page(findings: Sequence[Finding]) -> str:
    """The page, from a run of every cell."""
    rows = [
        _line(join, place, side, *(_entry(_of(findings, join, place, side, form)) for form in FORMS))
        for join in JOINS
        for place in PLACES
        for side in SIDES
        if _of(findings, join, place, side, None)
    ]
    return _TEXT.read_text(encoding="utf-8").format(
        cells=f"{len(findings):,}",
        rows="\n".join(rows),
        spark_files=_files(findings, lambda finding: finding.spark.values()),
        plugin_files=_files(findings, lambda finding: finding.plugin.values()),
    )


def _line(*entries: str) -> str:
    return f"| {' | '.join(entries)} |"


def _of(findings: Iterable[Finding], join: str, place: str, side: str, form: str | None) -> list[Finding]:
    return [
        finding
        for finding in findings
        if (finding.cell.join, finding.cell.place, finding.cell.side) == (join, place, side)
        and form in (None, finding.cell.form)
    ]


def _entry(findings: Sequence[Finding]) -> str:
    if not findings:
        return "-"
    return ", ".join(text for text in (_side(findings, "l"), _side(findings, "r")) if text) or "none"


def _side(findings: Sequence[Finding], side: str) -> str:
    by_spark = sum(side in finding.spark and bool(finding.spark[side].filters) for finding in findings)
    added = sum(bool(finding.added(side)) for finding in findings)
    if not by_spark and not added:
        return ""
    return f"{side} {by_spark}" + (f" **+{added}**" if added else "") + f" of {len(findings)}"


def _files(findings: Iterable[Finding], scans: Callable[[Finding], Iterable[Scan]]) -> int:
    return sum(scan.files for finding in findings if finding.cell.store == "partitions" for scan in scans(finding))
