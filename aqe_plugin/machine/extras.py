"""The command that installs what an extra of this package adds."""

from __future__ import annotations

import re
from importlib import metadata

_OF_EXTRA = re.compile(r"(?P<requirement>[^;]+?)\s*;.*\bextra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")


def install_command(extra: str) -> str:
    """``pip install`` with the packages of ``extra``, by name: no registry has this package itself."""
    try:
        declared = metadata.requires("aqe-plugin") or []
    except metadata.PackageNotFoundError:
        declared = []
    found = (_OF_EXTRA.match(line) for line in declared)
    wanted = [match["requirement"] for match in found if match is not None and match["extra"] == extra]
    # Without metadata, as in a checkout on PYTHONPATH, only the checkout itself can be named.
    return f"pip install {' '.join(map(repr, wanted or [f'.[{extra}]']))}"
