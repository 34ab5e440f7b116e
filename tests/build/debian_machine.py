"""A machine as the scripts that unpack Debian's packages find it: a PATH of a test's own, and an empty checkout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["Machine"]

_COMMANDS = ("bash", "mkdir", "mktemp", "rm", "mv", "cat", "chmod", "sed", "dirname")


class Machine:
    """What a script may use is in ``bin``, the few commands of any machine at first; it is run in ``checkout``."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.checkout = folder / "checkout"
        for made in (self.bin, self.checkout):
            made.mkdir()
        for command in _COMMANDS:
            found = shutil.which(command)
            assert found is not None
            (self.bin / command).symlink_to(found)

    def add(self, command: str, body: str = "") -> Machine:
        """Puts a ``command`` there that does what the lines of bash in ``body`` say."""
        script = self.bin / command
        script.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        script.chmod(0o755)
        return self

    def run(self, script: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "bash"), str(script)],
            cwd=self.checkout,
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
        )
