"""Options of the commands that read event logs."""

from __future__ import annotations

from typing import Annotated

import typer

LOGS_HELP = "Event logs: a log, a folder of logs, or an address that Spark can open (hdfs://, s3a://)."
HadoopConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hadoop-conf",
        metavar="KEY=VALUE",
        help="A key of Hadoop's conf for hdfs://, s3a:// and the like; repeatable. Keep passwords in Spark's conf.",
    ),
]
