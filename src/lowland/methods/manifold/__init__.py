"""Maps of neighbour graphs: Isomap, LLE and its kin, eigenmaps, unfolding."""
