"""The truth table of predicates on joins: every cell as SQL, its rows by brute force, and what Spark pushes where."""
