"""The PySpark of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqe_plugin.errors import ExtraMissingError
from aqe_plugin.machine.extras import install_command

if TYPE_CHECKING:
    from types import ModuleType


def import_pyspark() -> ModuleType:
    """The ``pyspark`` package.

    Raises:
        ExtraMissingError: it is not installed.
    """
    try:
        import pyspark
    except ImportError as error:
        raise ExtraMissingError(f"PySpark is not installed: {install_command('spark')}.") from error
    return pyspark
