"""Event logs of a fleet as tables: jobs for ``spark-submit``, and what reads the tables back.

::

    event logs -> ingest -> attempts, queries, decisions, outcomes, rejected
                                     |
                                     +-> stories -> recommend
                                     +-> aggregate -> cohort_days, join_days, pass_rate_days -> report

Every job is Spark's own functions from table to table; Python runs on the driver alone, and no row passes through it
but the few that a page shows. :mod:`aqe_plugin.pipeline.warehouse` says how a killed job loses and doubles nothing.
"""
