"""Multidimensional scaling: maps whose distances fit given ones."""
