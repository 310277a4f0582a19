"""Data sets by name: the tables, point sets and shapes that courses on dimensionality reduction use.

`rows` is the table of all sets, one row each. A set is bundled (``files/``, a few kB), comes from scikit-learn, is
generated with its parameters, or is downloaded once with a checksum (`fetching`). Every loader returns a `Table`.
"""
