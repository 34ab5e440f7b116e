"""One change carried through rings, from a canary to every application: proposed, compared, moved, written down."""
