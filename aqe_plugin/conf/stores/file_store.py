"""A conf in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import TargetError
from aqe_plugin.machine.disk import leftovers, make_folder, permissions, read_or_none, replace_file

CONF_FILE = "spark-defaults.conf"
_YAML = (".yaml", ".yml")
# Spark's event logs, plain and as its default codec zstd writes them.
_EVENT_LOG = (b'{"Event":"', b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True, slots=True)
class FileStore(ConfStore):
    """The file at ``path``."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def mode(self) -> int | None:
        return permissions(self.path)

    @property
    def effect(self) -> str:
        return f"applications that start from now on read {self.path} as it is now."

    @property
    def journal_folder(self) -> Path:
        # A folder, because Spark ships the files of its conf folder to the cluster.
        return self.path.parent / ".aqe-plugin" / self.path.name

    def make_journal_folder(self) -> None:
        require_folder(self.path)
        make_folder(self.journal_folder.parent, 0o755)
        make_folder(self.journal_folder, 0o755)

    @property
    def note_when_new(self) -> str:
        if self.path.name == CONF_FILE:
            return "a new file"
        return f"a new file: Spark reads {CONF_FILE} by itself, and this one only by spark-submit --properties-file"

    def read(self) -> bytes | None:
        return read_or_none(self.path)

    def parse(self, content: bytes | None) -> TargetConf:
        return parse_target(self.path, content)

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        require_folder(self.path)
        return ""

    def replace(self, before: bytes | None, after: bytes | None, who: str, mode: int | None = None) -> None:
        replace_file(self.path, after, mode)

    def leftovers(self) -> list[Path]:
        return leftovers(self.path.parent, self.path.name)


def require_folder(path: Path) -> None:
    """Refuses a file in a folder that does not exist.

    Raises:
        TargetError: there is no such folder.
    """
    if not path.parent.is_dir():
        raise TargetError(f"{path.parent}: no such folder. Create it (mkdir -p), or give a file in a conf folder.")


def parse_target(path: Path, content: bytes | None) -> TargetConf:
    """``content`` in the syntax that the file name says.

    Raises:
        TargetError: it is not in that syntax, or an event log.
        ConflictError: it is written in a way that cannot be changed.
    """
    if content is not None and content.startswith(_EVENT_LOG):
        raise TargetError(f"{path}: an event log, not a conf. Give {CONF_FILE}, or a Kubernetes file in YAML.")
    if content is not None and b"\0" in content:
        raise TargetError(f"{path}: not a text. Give {CONF_FILE}, or a Kubernetes file in YAML.")
    if path.suffix.lower() not in _YAML:
        return parse_properties(content, str(path))
    if content is None:
        raise TargetError(f"{path}: no such file. A Kubernetes file must exist; only {CONF_FILE} is created.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError(f"{path}: byte {error.start} is not UTF-8, the encoding of YAML.") from error
    # The YAML library is imported only when there is YAML to read.
    from aqe_plugin.conf.syntax.kubernetes import parse_kubernetes

    return parse_kubernetes(text, str(path))
