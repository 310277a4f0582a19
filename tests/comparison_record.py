"""What tests of comparisons look up."""


def entry(comparison, key):
    """Return the record of a candidate."""
    return next(e for e in comparison.record["candidates"] if e["key"] == key)
