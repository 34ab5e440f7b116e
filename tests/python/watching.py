"""Shared by tests of the daemon: all sums, and kills at a chosen record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aqe_plugin.exporter import EventLogCollector, Tally, metrics, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import EventSource, FileOffsets, FolderFollower, Record

__all__ = ["Killed", "KilledAfter", "read_plainly", "read_with_checkpoint", "sums"]

Sums = dict[tuple[str, ...], float]


class Killed(Exception):  # noqa: N818 - no error
    """The process was killed."""


class KilledAfter:
    """A source that kills its reader after a number of records."""

    def __init__(self, source: EventSource, records: int) -> None:
        self._source = source
        self._left = records

    @property
    def offsets(self) -> FileOffsets:
        return self._source.offsets

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        for log, records in self._source.poll():
            yield log, self._until_killed(records)

    def _until_killed(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            if self._left == 0:
                raise Killed
            self._left -= 1
            yield record


def sums(tally: Tally) -> Sums:
    """Every count, and every bucket and sum of the histograms."""
    found: Sums = {}
    for metric in metrics.ALL:
        if metric.type is metrics.MetricType.COUNTER:
            found |= {(metric.name, *labels): count for labels, count in tally.counts(metric).items()}
        elif metric.type is metrics.MetricType.HISTOGRAM:
            histogram = tally.histogram(metric)
            found[metric.name, "sum"] = histogram.sum
            found |= {(metric.name, repr(float(bound))): count for bound, count, *_ in histogram.buckets()}
    return found


def read_plainly(folder: Path) -> Sums:
    """One process, one read, no checkpoint."""
    tally = Tally()
    EventLogCollector(FolderFollower(folder), tally, stderr_log()).read_on()
    return sums(tally)


def read_with_checkpoint(folder: Path, checkpoint: Path, killed_after: int | None = None) -> Sums:
    """The sums after one poll, continued from ``checkpoint``; raises ``Killed`` when killed."""
    tally = Tally()
    with opened(checkpoint, str(folder)) as kept:
        kept.restore(tally)
        source: EventSource = FolderFollower(folder, kept.offsets())
        source = source if killed_after is None else KilledAfter(source, killed_after)
        EventLogCollector(source, tally, stderr_log(), kept.write).read_on()
    return sums(tally)
