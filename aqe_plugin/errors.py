"""Every error that a user can meet.

::

    AqePluginError                     exit code
    ├── SetupError                     3  this machine or installation lacks something
    │   ├── MissingJarError
    │   ├── UnsupportedSparkError
    │   ├── SessionError
    │   ├── NotAvailableError
    │   └── ExtraMissingError
    ├── InputError                     4  the input cannot be read or holds no data
    │   ├── EventLogError
    │   ├── NoDataError
    │   ├── EventSchemaError
    │   ├── TargetError
    │   ├── ClusterError
    │   ├── StatementError
    │   └── StateError                 9  what aqe-plugin itself wrote is damaged, of another version, or not there
    ├── ConfError                      5  a value is not allowed
    ├── PortInUseError                 6  the port is taken
    ├── ConflictError                  7  a file to change is in a state that is left alone
    └── WriteError                     8  a file cannot be written

Messages are complete sentences for a person and say how to fix it. A function's ``Raises`` names what it finds wrong
itself, a port's what callers must expect; errors of what a function calls pass through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

# What `aqe-plugin --help` says, and the manual.
EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        0: "done",
        1: "a fault of aqe-plugin itself",
        2: "command line not understood",
        3: "this machine or installation lacks something",
        4: "the input cannot be read or holds no data",
        5: "a value is not allowed",
        6: "the port is taken",
        7: "a file to change is in a state that is left alone",
        8: "a file cannot be written",
        9: "what aqe-plugin itself wrote is damaged, of another version, or not there",
    }
)


class AqePluginError(Exception):
    """Root of the tree; ``str`` of it is the message for the user."""

    exit_code: ClassVar[int] = 1


class SetupError(AqePluginError):
    """This machine or installation lacks something."""

    exit_code = 3


class MissingJarError(SetupError):
    """The package carries no jar that can be used."""


class UnsupportedSparkError(SetupError):
    """The Spark in use belongs to a line that has no jar."""


class SessionError(SetupError):
    """The plugin cannot be added to this session."""


class NotAvailableError(SetupError):
    """The session, or Spark, has no lawful way to do what was asked for."""


class ExtraMissingError(SetupError):
    """A package is missing that an extra of this package installs, such as PySpark or a codec of event logs."""


class InputError(AqePluginError):
    """Something that was asked to be read cannot be read."""

    exit_code = 4


class EventLogError(InputError):
    """An event log is absent, unreadable, or no event log at all."""


class NoDataError(InputError):
    """Everything could be read and nothing in it is of use."""


class EventSchemaError(InputError):
    """An event does not have the shape that its ``schemaVersion`` promises."""


class TargetError(InputError):
    """A file that is to be changed cannot be read, or is not what it was taken for."""


class ClusterError(InputError):
    """A Kubernetes API server or a Spark Connect server cannot be found, does not answer, or does not let us in."""


class StatementError(InputError):
    """A statement of SQL cannot be read, or is not what it has to be, such as a query."""


class StateError(InputError):
    """What aqe-plugin itself wrote (a journal, a checkpoint, tables) is damaged, of another version, or not there.

    Trying again does not fix it, as it may fix what is missing elsewhere.
    """

    exit_code = 9


class ConfError(AqePluginError):
    """A value that was given is not allowed."""

    exit_code = 5


class PortInUseError(AqePluginError):
    """The port to serve on is taken."""

    exit_code = 6


class ConflictError(AqePluginError):
    """A file that is to be changed is in a state that only its owner can sort out; it is left as it is."""

    exit_code = 7


class WriteError(AqePluginError):
    """A file cannot be written; it holds what it held before."""

    exit_code = 8
