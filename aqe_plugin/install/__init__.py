"""Putting the plugin into a Spark conf or a session, proving it, and taking it out again."""
