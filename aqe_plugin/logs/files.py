"""Where the bytes of event logs are: in local files, or in another file system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aqe_plugin.logs.addresses import is_hadoop_uri
from aqe_plugin.logs.layout import EventLog, LogPart, find_event_logs
from aqe_plugin.logs.reader import PartReader, Record


class Files:
    """The event logs at a path, and the content of their parts as local files; of local logs each part is its own.

    Attributes:
        root: the folder that all parts are in, as of the latest ``find``.
    """

    def __init__(self, root: Path = Path()) -> None:
        self.root = root

    def find(self) -> list[EventLog]:
        """The logs that are there, sorted by name.

        Raises:
            EventLogError: the file or folder is missing or cannot be listed.
            NoDataError: it is a folder without any event log.
        """
        return find_event_logs(self.root)

    def signature(self, part: LogPart) -> tuple[int, ...] | None:
        """Changes when anything is written to the part; ``None`` when only reading it can tell."""
        try:
            status = part.path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ino

    def changed_millis(self, part: LogPart) -> int | None:
        """When the file system says that the part was last written to; ``None`` when it does not."""
        try:
            return part.path.stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    def pieces(self, part: LogPart, reader: PartReader) -> Iterator[Path]:
        """Files with what ``reader`` reads next, at its offset in the part, and with the beginning of the part.

        Use up each before asking for the next, which removes it.

        Raises:
            OSError: the part cannot be read, or is damaged beyond reading; other parts may be readable.
            EventLogError: nothing can be read for the moment.
        """
        yield part.path


@contextmanager
def opened_files(
    source: Path | str, hadoop_conf: Mapping[str, str] | None = None, spool: Path | None = None
) -> Iterator[Files]:
    """The event logs at ``source``, readable as long as the context lasts.

    Args:
        source: a path, or an address that Spark's own client opens: ``hdfs://...``, ``s3a://...``, ``file:/...``.
        hadoop_conf: for an address, Hadoop's conf keys over those of the conf folders.
        spool: for an address, the folder for pieces of logs, emptied now and removed at the end; a temporary folder
            when left out.

    Raises:
        SetupError: for an address, PySpark or Java is missing.
        EventLogError: ``spool`` cannot be created.
    """
    if isinstance(source, str) and is_hadoop_uri(source):
        # Imported here, as PySpark and a JVM are needed for such an address only.
        from aqe_plugin.logs.hadoop import opened_hadoop_files

        with opened_hadoop_files(source, hadoop_conf or {}, spool) as files:
            yield files
    else:
        yield Files(Path(source))


def read_log(log: EventLog, files: Files | None = None) -> Iterator[Record]:
    """The events of one application in the order they were written; content never makes it raise.

    Raises:
        EventLogError: ``files``, local files when left out, cannot be read as a whole.
    """
    for part in log.parts:
        reader = PartReader(part)
        try:
            for piece in (files or Files()).pieces(part, reader):
                for chunk in reader.chunks(part.path, piece):
                    yield from chunk
        except OSError as error:
            yield from reader.refused(error)
        yield from reader.finish(log.in_progress)
