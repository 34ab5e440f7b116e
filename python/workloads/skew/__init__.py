"""Joins that estimates find hard.

Zipf keys, one heavy key, correlated keys, many to many, wide rows, strings and decimals.
"""

from workloads.skew.data import TABLES, SkewData, ensure_skew, skew_definition
from workloads.skew.queries import skew_queries

__all__ = ["TABLES", "SkewData", "ensure_skew", "skew_definition", "skew_queries"]
