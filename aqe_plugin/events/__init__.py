"""What the plugin wrote down: the events of an event log as values, and the queries they add up to."""

from aqe_plugin.events.join_option import JoinOption as JoinOption
from aqe_plugin.events.model import *  # noqa: F403
from aqe_plugin.events.queries import JoinStory as JoinStory
from aqe_plugin.events.queries import QueryStory as QueryStory
