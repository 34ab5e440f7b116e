"""Runs Spark's own test suites with the plugin switched on: `python -m tests.spark.run --help`.

Every failure must be in `expected-failures.txt` (on another line than the primary one in
`expected-failures-<line>.txt`), with its reason; one that is not, and one that is there and passes,
fails the run, and so do a filter that was planned and not applied, a fault inside the plugin and a query whose session
did not have the plugin. Suites that were run already with this very plugin are not run again.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.spark import expected, junit, jvm
from tests.spark.judge import Problem, problems
from tests.spark.report import Report
from tests.spark.suites import PRIMARY, SUITES, Mode, Turn

_REPORT_EVERY_SECONDS = 30.0
_DETAIL_LINES = 12


@dataclass(frozen=True)
class Outcome:
    """A suite that was run, or whose earlier run counts."""

    turn: Turn
    report: Report
    problems: tuple[Problem, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        listed = expected.read(expected.file_of(options.line))
    except expected.ListError as error:
        print(error, file=sys.stderr)
        return 2
    turns = _turns(options.suites, options.mode, options.quick, options.line)
    if not options.no_compile:
        jvm.compile_tests(options.line)
    current = jvm.stamp(options.line)
    outcomes = []
    for number, turn in enumerate(turns, start=1):
        head = f"[{number}/{len(turns)}] {turn}"
        earlier = None if options.fresh else jvm.earlier(turn, current)
        if earlier is None:
            print(f"{head} ...", flush=True)
            report = jvm.run(turn, current, options.limit_minutes * 60.0, _heartbeat(head))
        else:
            report = earlier
        outcome = Outcome(turn, report, tuple(problems(turn, report, listed)))
        _tell(head, outcome, is_earlier=earlier is not None)
        outcomes.append(outcome)
    junit.write([(o.turn, o.report, o.problems) for o in outcomes])
    _table(outcomes)
    return 1 if any(o.problems for o in outcomes) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.spark.run", description="Spark's own suites with the plugin on"
    )
    parser.add_argument("--suites", default="all", help="names, comma-separated (default: all)")
    parser.add_argument(
        "--mode", default="normal,open", help="plain, normal, open, comma-separated (default: normal,open)"
    )
    parser.add_argument("--line", default=PRIMARY, choices=jvm.lines(), help=f"the Spark line (default: {PRIMARY})")
    parser.add_argument("--quick", action="store_true", help="only what `make test-all` runs")
    parser.add_argument("--fresh", action="store_true", help="run again what was run with this very plugin already")
    parser.add_argument(
        "--limit-minutes", type=float, default=40.0, help="a suite that takes longer is ended (default: 40)"
    )
    parser.add_argument("--no-compile", action="store_true", help="take the classes and the class path as they are")
    options = parser.parse_args(arguments)
    known = {suite.name for suite in SUITES}
    options.suites = known if options.suites == "all" else set(options.suites.split(","))
    if unknown := sorted(options.suites - known):
        parser.error(f"no such suite: {', '.join(unknown)}; there are {', '.join(suite.name for suite in SUITES)}")
    try:
        options.mode = [Mode(name) for name in options.mode.split(",")]
    except ValueError as unknown_mode:
        parser.error(f"{unknown_mode}; modes are {', '.join(mode.value for mode in Mode)}")
    return options


def _turns(names: set[str], modes: Sequence[Mode], quick: bool, line: str) -> list[Turn]:
    suites = [suite for suite in SUITES if suite.name in names]
    if quick:
        return [Turn(suite, mode, line) for suite in suites for mode in suite.quick_modes]
    return [Turn(suite, mode, line) for mode in modes for suite in suites]


def _heartbeat(head: str) -> Callable[[Report], None]:
    start = time.monotonic()
    told = [start]

    def beat(report: Report) -> None:
        now = time.monotonic()
        if now - told[0] >= _REPORT_EVERY_SECONDS:
            told[0] = now
            print(
                f"{head}: {len(report.tests)} tests, {report.count('failed')} failed, {now - start:.0f} s", flush=True
            )

    return beat


def _tell(head: str, outcome: Outcome, *, is_earlier: bool) -> None:
    seconds = sum(test.millis for test in outcome.report.tests) / 1000.0
    state = "as it should be" if not outcome.problems else f"{len(outcome.problems)} problems"
    when = ", run earlier" if is_earlier else ""
    print(f"{head}: {len(outcome.report.tests)} tests in {seconds:.0f} s, {state}{when}", flush=True)
    for problem in outcome.problems:
        print(f"    {problem.test or outcome.turn.suite.name}: {problem.what}")
        for line in problem.detail.splitlines()[:_DETAIL_LINES]:
            print(f"        {line}")
    if outcome.report.counters is None:
        output = jvm.place(outcome.turn).output
        print(f"    {output} ends with:")
        for line in output.read_text(errors="replace").splitlines()[-_DETAIL_LINES:]:
            print(f"        {line}")


def _table(outcomes: Sequence[Outcome]) -> None:
    rows: list[tuple[str, ...]] = [
        ("suite", "mode", "run", "failed", "listed", "ignored", "filters", "not applied", "faults", "problems")
    ]
    for o in outcomes:
        counters = o.report.counters
        unlisted = sum(1 for p in o.problems if p.test and p.detail)
        failed = o.report.count("failed")
        measured = ("-", "-", "-")
        if counters is not None:
            measured = (str(counters.filters_applied), str(counters.filters_not_applied), str(counters.faults))
        run = o.report.count("passed") + failed
        counts = (run, failed, failed - unlisted, len(o.report.tests) - run)
        rows.append((o.turn.suite.name, o.turn.mode.value, *map(str, counts), *measured, str(len(o.problems))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print()
    for row in rows:
        print(
            "  ".join(
                cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )


if __name__ == "__main__":
    raise SystemExit(main())
