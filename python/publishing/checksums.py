"""The SHA-256 of each file of a release, as ``sha256sum --check`` reads them."""

import hashlib
from pathlib import Path

_NAME = "SHA256SUMS"


def checksums(folder: Path) -> str:
    """A line for each file below ``folder`` but the checksums themselves, in the order of their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _NAME)
    return "".join(f"{sha256(file.read_bytes())}  {file.relative_to(folder).as_posix()}\n" for file in files)


def sha256(content: bytes) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
