"""The Python interface to the plugin of a running session, for a notebook or a job: :class:`AqePlugin`.

Everything goes through SQL functions and session confs, so a Spark Connect client can do what a classic session can.
The one thing that takes more, running code inside the driver through py4j, is not used.
"""
