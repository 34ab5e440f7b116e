"""The entry point of ``aqe-plugin``: runs the command line and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from threading import current_thread, main_thread
from typing import NoReturn

from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.errors import AqePluginError
from aqe_plugin.render.terminal import visible


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; an error becomes one red line on stderr and an exit code (see ``aqe_plugin.errors``).

    The reader of a pipe (``head``, ``less``) may leave early: the command then ends silently with exit code 0.
    """
    try:
        with _ended_by_sigterm() as ended:
            _run(sys.argv[1:] if arguments is None else arguments)
    except (SystemExit, BrokenPipeError) as end:
        _flush()
        if ended:
            sys.exit(128 + signal.SIGTERM)
        # Typer and Rich turn a broken pipe into exit code 1.
        if isinstance(end, BrokenPipeError) or isinstance(end.__context__, BrokenPipeError):
            sys.exit(0)
        raise


@contextmanager
def _ended_by_sigterm() -> Iterator[list[int]]:
    """SIGTERM, which by default ends Python at once, interrupts as Ctrl-C does, so that what was started ends as well.

    An interrupt, unlike SystemExit, makes py4j close the connection whose answer is outstanding, so that a session can
    be stopped. Yields a list to which the signal is added when it comes; a second one ends Python at once.
    """
    came: list[int] = []

    def leave(number: int, _: object) -> NoReturn:
        came.append(number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield came
        return
    signal.signal(signal.SIGTERM, leave)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(words: list[str]) -> None:
    _escape_unencodable_output()
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        # Typer itself answers a command line that it does not understand, and leaves by SystemExit.
        from aqe_plugin.cli.app import app

        app(words, obj=words, prog_name="aqe-plugin")
    except AqePluginError as error:
        _fail(str(error), error.exit_code, debug)
    except BrokenPipeError:
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last resort: a user never sees a traceback unasked
        _fail(f"{type(error).__name__}: {error} (a fault of aqe-plugin; --debug shows where)", 1, debug)


def _flush() -> None:
    """Writes what is in the buffers, or discards it: Python itself would complain of a broken pipe when it ends."""
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _escape_unencodable_output() -> None:
    """Writes characters that the terminal's encoding lacks as escapes: a log may hold any, and so may table borders."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fail(message: str, exit_code: int, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    start, end = ("\x1b[31m", "\x1b[0m") if coloured else ("", "")
    sys.stderr.write(f"{start}{visible(without_credentials(message))}{end}\n")
    sys.exit(exit_code)
