"""Fixtures of several test modules."""

from __future__ import annotations

from api_server import api
from commands import answer
from tuned_cluster import cluster

__all__ = ["answer", "api", "cluster"]
