"""A change carried through rings, from a canary to every application: planned, taken, compared, and recorded."""
