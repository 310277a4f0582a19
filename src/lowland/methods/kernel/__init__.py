"""Kernel PCA and what it needs: the feature space and pre-images."""
