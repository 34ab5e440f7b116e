"""A rollout of values that somebody asks for, where no recommendation stands behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.stores.locate import Where
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConfError
from aqe_plugin.install.controller import propose_tuning
from aqe_plugin.install.journal import Actor, Phase
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rollout.ledger import SCHEMA_VERSION, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring

__all__ = ["GROUP", "asked_step", "values_of"]

GROUP = "asked"
_NO_EVIDENCE = Evidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0)


def values_of(words: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE`` words as key → value.

    Raises:
        ConfError: a word is written otherwise, or a key is given twice.
    """
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not key or not value:
            raise ConfError(f"--set {word}: write KEY=VALUE, e.g. --set spark.aqePlugin.filter.maxPassRate=0.5.")
        if key in values:
            raise ConfError(f"--set {key}: given twice, as {values[key]} and as {value}.")
        values[key] = value
    return values


def asked_step(
    values: Mapping[str, str],
    where: Where,
    conf: TargetConf,
    canary: str | None,
    canary_share: float | None,
    number: int,
    by: Actor,
) -> RolloutStep:
    """The first step of such a rollout, in the ring ``observe``: nothing is changed yet.

    Its changes are of the keys as ``conf``, that of ``where``, has them; a key that has its value already is left out.

    Raises:
        ConfError: the plugin would not take a value, or the key is none of its own.
        ConflictError: the file is written in a way that is not changed safely.
    """
    why = f"asked for: {by.why}" if by.why else "asked for"
    # Refuses what the plugin would not take before anything is written down.
    propose_tuning(where, values, why)
    changes = tuple(Change(key, conf.get(key), value, why) for key, value in values.items() if conf.get(key) != value)
    return RolloutStep(
        schema_version=SCHEMA_VERSION,
        number=number,
        phase=Phase.DONE,
        at_millis=int(by.now().timestamp() * 1000),
        who=by.who,
        ring=Ring.OBSERVE,
        why=why,
        asked_why=by.why,
        group=GROUP,
        changes=changes,
        canary=canary,
        canary_changes=(),
        evidence=_NO_EVIDENCE,
        confidence=0.0,
        canary_share=canary_share,
    )
