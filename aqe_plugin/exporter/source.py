"""A folder of event logs as the source of the exporter's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.logs import FileOffsets, FolderFollower
from aqe_plugin.logs.addresses import is_hadoop_uri
from aqe_plugin.logs.files import opened_files


@contextmanager
def opened_folder(
    folder: str,
    hadoop_conf: Mapping[str, str] | None = None,
    spool: Path | None = None,
    offsets: FileOffsets | None = None,
) -> Iterator[FolderFollower]:
    """Follows ``folder``, a path or an address in a Hadoop file system; arguments as for ``opened_files``."""
    require_folder(folder)
    with opened_files(folder, hadoop_conf, spool) as files:
        if is_hadoop_uri(folder):
            with suppress(NoDataError):
                files.find()
        yield FolderFollower(files, offsets)


def require_folder(folder: str) -> None:
    """Checks that a local folder exists; an address is checked when it is opened.

    Raises:
        EventLogError: the folder does not exist.
    """
    if not is_hadoop_uri(folder) and not Path(folder).is_dir():
        raise EventLogError(f"{folder}: no such folder; give the folder that spark.eventLog.dir names.")
