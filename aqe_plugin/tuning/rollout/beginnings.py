"""How a rollout begins: with what was recommended, or with values that somebody asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY, MODE_KEY, conf_keys, problem_of_change
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConfError
from aqe_plugin.install.controller import propose_tuning
from aqe_plugin.tuning.recommendation import Evidence, Recommendation
from aqe_plugin.tuning.rollout.ledger import ASKED, ASKED_WHY, SCHEMA_VERSION, RolloutStep
from aqe_plugin.tuning.rollout.manual_edits import same_value
from aqe_plugin.tuning.rollout.rings import Ring
from aqe_plugin.tuning.rollout.rollouts import NextStep, Rollouts, moved
from aqe_plugin.tuning.rollout.step_times import between
from aqe_plugin.tuning.rollout.trial import changes_of

_NO_EVIDENCE = Evidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0)


def begin(
    rollouts: Rollouts, recommendation: Recommendation, canary_share: float | None, seen_until_millis: int
) -> NextStep:
    """Begins a rollout of ``recommendation`` in the ring ``observe``: it is only remembered.

    Args:
        seen_until_millis: the newest time in the history that it was made of.
    """
    changes = changes_of(recommendation, read_target(rollouts.file).conf)
    step = _first_step(rollouts, recommendation.why, changes, canary_share)
    confidence = recommendation.risk.confidence
    step = replace(step, group=recommendation.group, evidence=recommendation.evidence, confidence=confidence)
    return NextStep(between(step, seen_until_millis), None)


def why_not_tried(key: str, value: str) -> str:
    """Why no rollout can try ``key`` = ``value``, empty when one can."""
    if key.startswith(CANARY):
        return "rollout sets the canary's keys itself. Name the key to try and --canary-share"
    return problem_of_change(key, value)


def begin_with_values(rollouts: Rollouts, values: Mapping[str, str], canary_share: float | None) -> NextStep | None:
    """Begins a rollout of values that somebody asks for, on the canary or, without one, everywhere.

    Args:
        values: a rollout can try each of them, see :func:`why_not_tried`.

    Returns:
        ``None`` when these values hold already, as the file has them or by default.

    Raises:
        ConfError: no share of the applications can try a value.
    """
    why = ASKED_WHY
    # Refuses what the target does not take.
    propose_tuning(rollouts.file, values, why)
    conf = read_target(rollouts.file).conf
    changes = tuple(
        Change(key, conf.get(key), value, why)
        for key, value in values.items()
        if not same_value(key, value, _value_in(conf, key))
    )
    if not changes:
        return None
    switches = [change for change in changes if change.key == MODE_KEY]
    if canary_share is not None and any(_is_off(one.new) or _is_off(_value_in(conf, one.key)) for one in switches):
        raise ConfError(
            f"--canary-share {canary_share:g}: {MODE_KEY} = {values[MODE_KEY]}, before: {_value_in(conf, MODE_KEY)}: "
            "an application whose mode is off logs no decision, so the two sides of a canary cannot be compared. Leave "
            "the share out."
        )
    observed = between(_first_step(rollouts, why, changes, canary_share), None)
    return moved(rollouts, observed, Ring.CANARY if observed.has_canary else Ring.ALL, why, (observed,))


def _is_off(mode: str | None) -> bool:
    return mode is not None and mode.lower() == "off"


def _value_in(conf: TargetConf, key: str) -> str | None:
    """The value that applications read, which may be the default."""
    known = conf_keys()
    return conf.get(key) or (known[key].default if key in known else None)


def _first_step(rollouts: Rollouts, why: str, changes: tuple[Change, ...], share: float | None) -> RolloutStep:
    return RolloutStep(
        schema_version=SCHEMA_VERSION,
        number=rollouts.steps[-1].number + 1 if rollouts.steps else 1,
        phase="done",
        at_millis=rollouts.next_millis,
        who=rollouts.by.who,
        ring=Ring.OBSERVE,
        why=why,
        asked_why=rollouts.by.why,
        group=ASKED,
        changes=changes,
        evidence=_NO_EVIDENCE,
        confidence=0.0,
        before_until_millis=rollouts.next_millis,
        after_since_millis=rollouts.next_millis,
        canary_share=share,
    )
