"""Workloads for tests and benchmarks; each generates its own data."""
