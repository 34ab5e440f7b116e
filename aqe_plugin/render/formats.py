"""How a command may be asked to print: what makes sense for what it shows, and no more."""

from __future__ import annotations

from enum import Enum

__all__ = ["ChangeFormat", "ConfFormat", "DiffFormat", "TableOrJson"]


class TableOrJson(str, Enum):
    """For what is no conf: queries, checks, steps of a rollout."""

    TABLE = "table"
    JSON = "json"


class ConfFormat(str, Enum):
    """For what is set somewhere: also as lines that set it."""

    TABLE = "table"
    JSON = "json"
    CONF = "conf"


class DiffFormat(str, Enum):
    """For changes that were made: also what went and what came."""

    TABLE = "table"
    JSON = "json"
    DIFF = "diff"


class ChangeFormat(str, Enum):
    """For changes to be made: also as lines that make them, and as a diff of the file."""

    TABLE = "table"
    JSON = "json"
    CONF = "conf"
    DIFF = "diff"
