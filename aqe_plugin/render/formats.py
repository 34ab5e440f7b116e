"""The formats that ``--format`` offers, by what a command shows."""

from __future__ import annotations

from typing import Literal

TableOrJson = Literal["table", "json"]
"""What every command can print."""

ProposalFormat = Literal["table", "json", "diff", "patch"]
"""Changes to be made: also a diff of the file, or a patch of the object."""

StepFormat = Literal["table", "json", "patch"]
"""A step of a rollout: also a patch of the object."""

FindingsFormat = Literal["table", "json", "conf"]
"""Recommended values: also the best as lines of a conf."""
