"""The plugin's conf keys, the syntaxes of a Spark conf, and the stores that keep one."""
