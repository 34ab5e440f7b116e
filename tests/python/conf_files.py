"""A conf file that somebody owns, and the controller's ways with it, each carried out."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.install.controller import Proposal, carry_out, propose_install, propose_rollback, propose_uninstall
from aqe_plugin.install.journal import Actor

__all__ = ["ACTOR", "JAR", "THEIRS", "conf", "done", "install", "rollback", "uninstall"]

JAR = "/jars/aqe-plugin-spark-4.1-0.1.0.jar"
ACTOR = Actor("ann@host", "ring 1", lambda: datetime(2026, 11, 21, 12, tzinfo=timezone.utc))
THEIRS = b"# theirs\r\nspark.plugins   com.acme.P, com.acme.Q\r\nspark.secret = pa$$ \xff\r\nspark.jars:/a.jar"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "spark-defaults.conf"
    path.write_bytes(THEIRS)
    return path


def install(path: Path, mode: str | None = None, jar: str = JAR) -> Proposal:
    return done(propose_install(FileStore(path), jar, mode))


def uninstall(path: Path, purge: bool = False) -> Proposal:
    return done(propose_uninstall(FileStore(path), purge))


def rollback(path: Path, force: bool = False) -> Proposal:
    return done(propose_rollback(FileStore(path), force))


def done(proposal: Proposal) -> Proposal:
    carry_out(proposal, ACTOR)
    return proposal
