"""What the plugin wrote down: the events of an event log as values, and the queries they add up to."""
