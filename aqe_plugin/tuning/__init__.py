"""Thresholds learned from what queries of the same shape took: recommended with evidence, never decided here.

Pure functions over plain values, from the event logs' stories to a recommendation::

    stories -> cohorts -> runs -> calibrate -> recommend -> guards
                                     |            |
                                     +-- replay --+   the plugin's own decision function, behind a port

and from there to a cluster: ``rings`` (observe, canary, all) with the test in ``sequential``. ``spark_replay`` alone
touches Spark: it asks the SQL function ``aqe_decide``, for there is no second implementation of the decision.

What outcomes can identify is the price of what *differs* between two ways to run one query shape, and only where a
shape was seen both ways. What they cannot: how far to trust a wait (``aqe_decide`` does not decide waits again), how
much memory a broadcast may take (a log has no outcome of the executor that died), and the ratio that counts as a tie.
Those thresholds, and every parameter of a filter itself, are left alone.
"""
