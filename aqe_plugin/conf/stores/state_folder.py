"""The folder on this machine with journal, rollouts and backups of a target, beside what other machines recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.stores.shared_state import LOGS, Compared, Lead, SharedState, compared, without_spent
from aqe_plugin.machine.disk import digest, make_folder, read_or_none, replace_file

_PRIVATE = 0o600
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The folder at ``path``, which may be absent."""

    path: Path

    def state(self, target: str) -> SharedState:
        """What this machine knows of ``target``; a damaged backup is left out."""
        logs = {name: without_spent(log) for name in LOGS if (log := read_or_none(self.path / name))}
        kept = (path for path in sorted((self.path / "backups").glob("*")) if _DIGEST.fullmatch(path.name))
        contents = {path.name: read_or_none(path) for path in kept}
        return SharedState(
            target, logs, {name: found for name, found in contents.items() if found and digest(found) == name}
        )

    def beside(self, shared: SharedState) -> Mapping[str, Compared]:
        """Each log of this machine compared with the shared one."""
        return {name: compared(read_or_none(self.path / name) or b"", shared.logs.get(name, b"")) for name in LOGS}

    def lacks(self, shared: SharedState) -> bool:
        """Whether there is anything in ``shared`` to take over."""
        leads = {one.lead for one in self.beside(shared).values()}
        return bool(leads & {Lead.THEIRS, Lead.NEITHER} or self._missing(shared))

    def take_over(self, shared: SharedState) -> list[Path]:
        """Makes this folder know what ``shared`` says; whoever calls it holds the folder's lock.

        Returns:
            The files that keep a log of this machine which was appended to apart from the shared one.
        """
        missing = self._missing(shared)
        if missing:
            make_folder(self.path / "backups", 0o700)
        for name in missing:
            replace_file(self.path / "backups" / name, shared.backups[name], _PRIVATE)
        aside = []
        # A step of a rollout names a change, so the journal, which has the changes, comes first.
        for name, one in self.beside(shared).items():
            if one.lead is Lead.NEITHER:
                aside.append(self._kept_aside(name))
            if one.lead in (Lead.THEIRS, Lead.NEITHER):
                # Everybody may read a log that an older version began.
                replace_file(self.path / name, one.merged, _PRIVATE, keeps_mode=False)
        return aside

    def _missing(self, shared: SharedState) -> list[str]:
        return [name for name in shared.backups if not (self.path / "backups" / name).exists()]

    def _kept_aside(self, name: str) -> Path:
        stem = self.path / name
        number = 1
        while (aside := stem.with_name(f"{stem.stem}.apart-{number}{stem.suffix}")).exists():
            number += 1
        replace_file(aside, read_or_none(stem), _PRIVATE)
        return aside
