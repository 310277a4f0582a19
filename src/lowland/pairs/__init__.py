"""Metrics and Mercer kernels, evaluated between blocks of objects.

A metric or kernel is a `Pairwise` rule: it prepares a block once (centred rows, norms) and compares two prepared
blocks. `square` fills an N × N matrix by tiles; one half is computed, and the result is exactly symmetric. `against`
compares new rows with fixed anchors, a few rows at a time. Statistics of the training rows that a rule needs (means,
variances) are computed once and stored in the model, so the values of a new row never depend on its batch. Euclidean
distances are products of centred rows; those of pairs too close for products are computed from differences.
"""
