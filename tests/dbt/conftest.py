"""What the tests of dbt share with those of the command line."""

from commands import answer

__all__ = ["answer"]
