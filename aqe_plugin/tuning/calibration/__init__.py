"""The coefficients of the price, measured on one cluster by queries that were made for it.

::

    experiments -> samples (times of each query, in rounds) -> fit (coefficients with intervals)

An experiment is one answer computed in several ways; what the ways do differently is known, so the differences of their
times tell what that work costs.
"""
