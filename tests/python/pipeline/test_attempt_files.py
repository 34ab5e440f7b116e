"""Which files are whose, by names alone: the pipeline's way, for any file system, and that of the other commands."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("py4j")

from aqe_plugin.errors import NoDataError
from aqe_plugin.logs.layout import find_event_logs
from aqe_plugin.pipeline.attempt_files import ListedFile, attempts_in

CODECS = st.sampled_from(["", ".zstd", ".lz4", ".snappy", ".lzf", ".gz"])
RUNNING = st.sampled_from(["", "", ".inprogress"])
SINGLE = st.builds("{}{}{}".format, st.sampled_from(["app-1", "app-2", "app.3", "notes.txt"]), CODECS, RUNNING)
PART = st.builds(
    "events_{}_app{}{}".format,
    st.integers(1, 12),
    CODECS,
    st.sampled_from(["", "", ".compact", ".compact.inprogress"]),
)
STATUS = st.builds("appstatus_app{}".format, RUNNING)
ROLLING = st.builds(
    "eventlog_v2_{}/{}".format, st.sampled_from(["rolled-1", "rolled-2"]), PART | STATUS | st.just("other")
)


@settings(max_examples=60, deadline=None)
@given(st.sets(SINGLE | ROLLING, max_size=25))
def test_an_attempt_has_the_files_that_the_other_commands_read(names: set[str]) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).touch()
        found = attempts_in(ListedFile(made, f"{made}/{name}", 1, 0) for name in sorted(names))
        try:
            logs = find_event_logs(folder)
        except NoDataError:
            logs = []
    expected: dict[str, tuple[set[tuple[int, str]], bool]] = {}
    for log in logs:
        # A log may lie there twice, by two compressions.
        parts, running = expected.get(log.name, (set(), False))
        more = {(part.number, str(part.path)) for part in log.parts}
        expected[log.name] = parts | more, running or log.in_progress
    told = {
        log: ({(part.named.number, part.file.path) for part in attempt.parts if part.read}, attempt.in_progress)
        for log, attempt in found.items()
    }
    # The other commands pass over a folder in which no part is yet.
    assert {log: one for log, one in told.items() if one[0]} == expected


def test_a_path_may_name_a_rolling_log_or_one_of_its_parts() -> None:
    folder = "s3a://bucket/eventlog_v2_app-1"
    part = f"{folder}/events_1_app-1.zstd"
    for root in ("s3a://bucket", folder, part):
        (attempt,) = attempts_in([ListedFile(root, part, 7, 0)]).values()
        assert (attempt.log, [one.named.number for one in attempt.parts]) == ("app-1", [1])
    assert attempts_in([ListedFile("s3a://bucket", "s3a://bucket/folder/app-1", 7, 0)]) == {}
