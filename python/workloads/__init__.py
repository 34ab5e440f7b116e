"""Workloads that queries are tried on; each generates its own data."""
