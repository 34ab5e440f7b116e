"""The plugin's conf keys, the syntaxes that a Spark conf is written in, and the stores that hold one."""
