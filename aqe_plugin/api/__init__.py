"""The Python interface to the plugin of a running session, for a notebook or a job: :class:`AqePlugin`.

It uses SQL functions and session confs alone, never py4j, so a Spark Connect client can do what a classic session can.
"""
