"""What commands that read event logs have in common."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["LOGS_ARE", "HadoopConfOption"]

LOGS_ARE = "files, rolling logs' folders, or folders of logs, here or at hdfs://, s3a:// and what else Spark can open"
HadoopConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hadoop-conf",
        metavar="KEY=VALUE",
        help="For hdfs://, s3a:// and the like: a key of Hadoop's conf; repeatable. Passwords belong in Spark's conf.",
    ),
]
