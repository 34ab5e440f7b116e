"""Options of the commands that read event logs, and of those that serve their metrics."""

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
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on; 0 takes any free one.")]
AddressOption = Annotated[str, typer.Option(help="The address to serve on; 0.0.0.0 is every interface.")]
ApplicationsOption = Annotated[
    int, typer.Option(min=0, max=10_000, help="How many applications, the latest, get metrics of their own.")
]
