"""The formats that ``--format`` offers, by what a command shows."""

from __future__ import annotations

from enum import Enum


class TableOrJson(str, Enum):
    """Queries, checks, steps of a rollout: nothing of a conf."""

    TABLE = "table"
    JSON = "json"


class ConfFormat(str, Enum):
    """Values that are set: also the conf lines that set them."""

    TABLE = "table"
    JSON = "json"
    CONF = "conf"


class DiffFormat(str, Enum):
    """Changes that were made: also what each removed and added."""

    TABLE = "table"
    JSON = "json"
    DIFF = "diff"


class ChangeFormat(str, Enum):
    """Changes to be made: also their conf lines, and a diff of the file."""

    TABLE = "table"
    JSON = "json"
    CONF = "conf"
    DIFF = "diff"
