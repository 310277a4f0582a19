"""Functions of two objects: metrics and Mercer kernels, evaluated block against block."""
