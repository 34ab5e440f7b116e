"""The lists of failures that are expected, each with its reason: `expected-failures.txt`, and one per other line."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.spark.suites import PRIMARY, SUITES, Mode

FILE = Path(__file__).with_name("expected-failures.txt")


class ListError(Exception):
    """The list cannot be read; the message names the line."""


@dataclass(frozen=True)
class Expected:
    """One test that fails in these modes, and why that is right.

    Attributes:
        at_times: those of the modes in which it may pass as well, by which of two stages ends first.
    """

    suite: str
    test: str
    modes: frozenset[Mode]
    reason: str
    at_times: frozenset[Mode] = frozenset()


def file_of(line: str) -> Path:
    """The list for a Spark line; its suites have tests of their own, so a list holds for one line."""
    return FILE if line == PRIMARY else FILE.with_name(f"{FILE.stem}-{line}{FILE.suffix}")


def read(path: Path = FILE) -> tuple[Expected, ...]:
    """The list of a file.

    A line is `suite | modes, comma-separated | name of the test | reason`; empty lines and those with `#` in front are
    left out; a file that is not there lists nothing. The name may have bars in it, the reason may not. A mode with `?`
    behind it: the test may also pass in it.

    Raises:
        ListError: a line is of another form, or names a suite or mode that is not.
    """
    return parse(path.read_text(encoding="utf-8").splitlines(), path.name) if path.is_file() else ()


def parse(lines: Iterable[str], source: str) -> tuple[Expected, ...]:
    found: list[Expected] = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            found.append(_entry(line, f"{source}:{number}"))
    return tuple(found)


def _entry(line: str, where: str) -> Expected:
    head, _, reason = line.rpartition(" | ")
    parts = head.split(" | ", 2)
    if len(parts) != 3 or not reason.strip():
        raise ListError(f"{where}: `suite | modes | test | reason` is expected")
    suite, modes, test = (part.strip() for part in parts)
    if suite not in {known.name for known in SUITES}:
        raise ListError(f"{where}: no such suite: {suite}")
    names = [mode.strip() for mode in modes.split(",")]
    try:
        listed = frozenset(Mode(name.removesuffix("?")) for name in names)
        at_times = frozenset(Mode(name.removesuffix("?")) for name in names if name.endswith("?"))
        return Expected(suite, test, listed, reason.strip(), at_times)
    except ValueError as unknown:
        raise ListError(f"{where}: {unknown}; modes are {', '.join(mode.value for mode in Mode)}") from None
