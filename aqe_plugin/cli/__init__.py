"""The ``aqe-plugin`` command: a module a group of commands, which parses, calls the room that works, and prints."""
