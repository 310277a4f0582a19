"""Functions of two objects: metrics and Mercer kernels, evaluated block against block.

A metric or kernel is a `Pairwise` rule: it prepares a block once (centred rows, norms) and compares two prepared
blocks. `square` fills an N × N matrix by tiles; one half is computed, and the result is exactly symmetric. `against`
compares new rows with fixed anchors, a few rows at a time. What a rule needs of the training rows (means, variances)
is learned once and kept in the model, so the values of a new row never depend on its batch. Euclidean distances are
products of centred rows; pairs so close that a product would lose them are computed from differences.
"""
