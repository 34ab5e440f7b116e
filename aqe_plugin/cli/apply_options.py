"""The options of `apply`; those that name a canary are checked against each other and the rollout under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.cli.install import place_of
from aqe_plugin.cli.settings import PATH
from aqe_plugin.conf.stores.file_store import Where, store_of
from aqe_plugin.conf.stores.session_address import SCHEME, without_secrets
from aqe_plugin.conf.stores.session_store import SessionStore
from aqe_plugin.errors import ConfError
from aqe_plugin.tuning.rollout.engine import CanaryChoice
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring

CanaryOption = Annotated[
    Path | None,
    typer.Option(
        readable=False,
        metavar=PATH,
        help="The conf file that a part of the applications reads, e.g. that of one queue.",
    ),
]
CanaryShareOption = Annotated[
    float | None,
    typer.Option(min=0.001, max=0.999, help="Instead: the share of all applications that try it, e.g. 0.1."),
]
CanaryLogsOption = Annotated[
    list[str] | None,
    typer.Option("--canary-log", metavar=PATH, help="Event logs of those applications; repeatable."),
]
CanaryDecisionsOption = Annotated[
    str | None, typer.Option(help="With --decisions: the tables that were made of the canary's logs.")
]
MarginOption = Annotated[float, typer.Option(min=0.01, max=0.5, help="Share of elapsed time that a change may cost.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Try a value of your own, not a recommended one; repeatable."),
]


@dataclass(frozen=True, slots=True)
class CanaryOptions:
    """The values of ``--canary``, ``--canary-share``, ``--canary-log`` and ``--canary-decisions``."""

    file: Path | None
    share: float | None
    logs: Sequence[str]
    tables: str | None

    def checked(self, target: Where) -> CanaryChoice:
        """The canary of a rollout of ``target``.

        Raises:
            ConfError: the options exclude each other, or do not fit ``target``.
        """
        session = isinstance(target, SessionStore)
        if self.file is not None and (session or str(self.file).startswith(SCHEME)):
            raise ConfError(
                f"--canary {without_secrets(str(self.file))}: a running session has no canary and cannot be one. Leave "
                "the option out, or give two conf files."
            )
        if self.share is not None and session:
            raise ConfError(f"--canary-share {self.share:g}: a running session is one application, which has no share.")
        name = None if self.file is None else store_of(place_of(self.file, None)).name
        if name == store_of(target).name:
            raise ConfError(
                f"--canary {self.file} is the file that every application reads: give one that a part of them reads."
            )
        others = {"--canary": self.file, "--canary-log": self.logs, "--canary-decisions": self.tables}
        for option in (option for option, value in others.items() if value and self.share is not None):
            raise ConfError(
                f"--canary-share {self.share:g} and {option}: the share is of the applications that read the target."
            )
        return CanaryChoice(name, self.share)

    def require_same(self, canary: CanaryChoice, last: RolloutStep) -> None:
        """Checks the options against the rollout under way, whose last step is ``last``.

        Raises:
            ConfError: they name another canary, or the canary's logs are missing or too many.
        """
        rollout = f"rollout no. {last.number}"
        if canary.file is not None and canary.file != last.canary:
            has = "has no canary" if last.canary is None else f"has the canary {last.canary}"
            raise ConfError(f"--canary {self.file}: {rollout} is under way and {has}. Leave the option out.")
        if last.ring is Ring.CANARY and last.canary is not None and not self.logs and self.tables is None:
            raise ConfError(
                f"Rollout no. {last.number} is in its canary {last.canary}: give --canary-log with the event logs "
                "of the applications that read it, or --canary-decisions with the tables made of them."
            )
        if canary.share is not None and canary.share != last.canary_share:
            has = "has no share" if last.canary_share is None else f"has the share {last.canary_share:g}"
            raise ConfError(f"--canary-share {canary.share:g}: {rollout} is under way and {has}. Leave the option out.")
        given = {"--canary-log": self.logs[0] if self.logs else None, "--canary-decisions": self.tables}
        for option, value in given.items():
            if value is not None and last.canary_share is not None:
                raise ConfError(
                    f"{option} {value}: {rollout} is tried by a share of the applications that read the target. Their "
                    "queries are among those of LOGS or --decisions."
                )


def values_of(words: Sequence[str]) -> dict[str, str]:
    """The values of ``--set`` by key.

    Raises:
        ConfError: a word is not ``KEY=VALUE``, or a key is given twice.
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
