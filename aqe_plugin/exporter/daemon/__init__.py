"""The daemon behind ``aqe-plugin run``: its checkpoint, its loop, and its schedule."""
