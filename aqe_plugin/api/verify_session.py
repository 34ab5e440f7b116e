"""Proves the plugin of a running session, by a small join in that session."""

from __future__ import annotations

from collections.abc import Iterator

from aqe_plugin.api.plugin import AqePlugin
from aqe_plugin.conf.stores.session_store import SessionStore
from aqe_plugin.install.doctor import Check, Verdict

__all__ = ["verify_session"]


def verify_session(store: SessionStore) -> Iterator[Check]:
    """Each check as soon as it is made; without the plugin, or with a bad value in its keys, no join is run.

    Nothing in the session is changed, and it goes on afterwards.

    Raises:
        TargetError: the session has ended.
        ClusterError: the server cannot be asked, or falls silent.
    """
    missing = store.why_not_loaded()
    if missing:
        yield Check("plugin", Verdict.FAILED, missing)
        return
    yield Check("plugin", Verdict.OK, "loaded in the session's application")
    # Spark's client takes longer to import than all others together, and the store has imported it.
    from aqe_plugin.conf.stores.connect_server import joined

    with joined(store.api) as spark:
        for check in AqePlugin(spark).verify().checks:
            yield Check(check.name, Verdict.OK if check.ok else Verdict.FAILED, check.found)
