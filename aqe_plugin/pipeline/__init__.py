"""Event logs of a fleet as tables: jobs for ``spark-submit``, and what reads the tables back.

::

    event logs -> ingest -> attempts, queries, decisions, outcomes, rejected
                                     |
                                     +-> history -> recommend, rollout
                                     +-> aggregate -> fingerprint_days, join_days -> report

A job consists of Spark's own functions from table to table. Python runs only on the driver; only the rows of a page
and, one query at a time, those of a history pass through it. :mod:`aqe_plugin.pipeline.warehouse` explains why a killed
job loses and duplicates nothing.
"""
