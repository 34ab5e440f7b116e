"""The formats that ``--format`` offers, by what a command shows."""

from __future__ import annotations

from enum import Enum


class TableOrJson(str, Enum):
    """What every command can print."""

    TABLE = "table"
    JSON = "json"


class ProposalFormat(str, Enum):
    """Changes to be made: also a diff of the file, or a patch of the object."""

    TABLE = "table"
    JSON = "json"
    DIFF = "diff"
    PATCH = "patch"


class StepFormat(str, Enum):
    """A step of a rollout: also a patch of the object."""

    TABLE = "table"
    JSON = "json"
    PATCH = "patch"


class FindingsFormat(str, Enum):
    """Recommended values: also the best as lines of a conf."""

    TABLE = "table"
    JSON = "json"
    CONF = "conf"
