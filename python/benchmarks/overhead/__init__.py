"""`make bench-overhead`: what the plugin costs where it can win little."""
