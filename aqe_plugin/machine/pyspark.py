"""The PySpark of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqe_plugin.errors import ExtraMissingError

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
        raise ExtraMissingError("PySpark is not installed: pip install 'aqe-plugin[spark]'.") from error
    return pyspark
