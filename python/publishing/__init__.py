"""What a release has besides its packages: a bill of materials and checksums."""
