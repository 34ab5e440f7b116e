"""What this machine gives: Java, PySpark, and files that hold old or new bytes and never half."""
