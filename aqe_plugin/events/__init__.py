"""What the plugin wrote down: the events of an event log as values, and the queries they add up to."""

from aqe_plugin.events import model
from aqe_plugin.events.model import *  # noqa: F403
from aqe_plugin.events.queries import JoinStory, QueryStory

__all__ = [*model.__all__, "JoinStory", "QueryStory"]
