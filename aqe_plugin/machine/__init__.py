"""This machine: Java, PySpark, and files that change atomically."""
