"""What a command says on standard error: each message one line, which a terminal gets wrapped at words."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.render.terminal import hanging, visible

_COMMAND = "aqe-plugin "


def say(text: str, style: str = "") -> None:
    """Prints ``text`` without credentials; nothing in it is markup."""
    console, shown = Console(stderr=True, soft_wrap=True), visible(without_credentials(text))
    # A command is there to be pasted.
    console.print(Text(shown if _COMMAND in shown else hanging(shown, 0, console), style=style))


def warn(text: str) -> None:
    """Prints ``text`` as a warning."""
    say(text, "yellow")
