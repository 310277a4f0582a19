"""Linear methods: PCA and its kin, ICA, FAMD, and projections that keep a neighbour graph."""
