"""t-SNE and UMAP."""
