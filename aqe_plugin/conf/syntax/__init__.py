"""Files that hold a Spark conf, parsed so that every byte that does not change stays."""
