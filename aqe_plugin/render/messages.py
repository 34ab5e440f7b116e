"""What a command says on standard error: each message one line, whatever it holds."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.render.terminal import visible


def say(text: str, style: str = "") -> None:
    """Prints ``text`` without credentials; nothing in it is markup."""
    Console(stderr=True, soft_wrap=True).print(Text(visible(without_credentials(text)), style=style))


def warn(text: str) -> None:
    """Prints ``text`` as a warning."""
    say(text, "yellow")
