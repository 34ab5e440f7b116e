"""What a command does when an option is left out: read from the environment and from a file, before the defaults.

``description`` says what can be set, taken from the commands themselves; ``file`` and ``resolve`` say what is set, and
where. An option that is given always wins.
"""
