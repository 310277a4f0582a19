"""Self-organising map and autoencoder."""
