"""What ``check`` says of a conf, by name."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.conf.target import ConfStore
from aqe_plugin.install.checks import Check
from aqe_plugin.install.health import conf_checks, is_installed

__all__ = ["State", "state_of"]


@dataclass(frozen=True)
class State:
    """The checks of a conf."""

    checks: tuple[Check, ...]
    installed: bool

    @property
    def mode(self) -> str | None:
        return next((check.found for check in self.checks if check.name == "mode"), None)

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(check.found for check in self.checks if check.verdict == "remark")

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.ok)


def state_of(where: ConfStore) -> State:
    return State(tuple(conf_checks(where)), is_installed(where))
