"""Random projection."""
