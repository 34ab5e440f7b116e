"""What commands that read event logs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.tuning.learned.store import default_store

__all__ = ["LOGS_ARE", "HadoopConfOption", "NoStoreOption", "StoreOption", "store_of_choice"]

LOGS_ARE = "files, rolling logs' folders, or folders of logs, here or at hdfs://, s3a:// and what else Spark can open"
HadoopConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hadoop-conf",
        metavar="KEY=VALUE",
        help="For hdfs://, s3a:// and the like: a key of Hadoop's conf; repeatable. Passwords belong in Spark's conf.",
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        readable=False,
        help="File that keeps what logs said, so that each is read once; one of your own when left out.",
    ),
]
NoStoreOption = Annotated[bool, typer.Option("--no-store", help="Read every log anew, and keep nothing.")]


def store_of_choice(store: Path | None, no_store: bool, environment: Mapping[str, str]) -> Path | None:
    """The file that ``--store`` and ``--no-store`` come to, ``None`` for none."""
    return None if no_store else store or default_store(environment)
