"""Thresholds recommended from what runs of the same fingerprint took, and carried through rings (``rollout``).

Pure functions over plain values::

    queries -> fingerprint -> runs -> history -> run_scales -> recommend -> recommendation (its limits)
                                                    |              |
                                                    +--- replay ---+   the plugin's own decision function, behind a port

``calibration`` measures the same coefficients by queries of its own, on an idle cluster.

Only ``spark_replay`` uses Spark: it calls the SQL function ``aqe_decide``, because the decision has no second
implementation.

Outcomes identify the price of what *differs* between two ways to run one fingerprint, and only where both ways were
seen. They do not identify how far to trust a wait (``aqe_decide`` does not decide waits again), how much memory a
broadcast may take (a log has no outcome of an executor that died), or the ratio that counts as a tie. These thresholds,
and every parameter of a filter itself, are left alone.
"""
