"""Side-by-side timings of Spark's own choices, Spark's own Bloom filter, and the plugin."""
