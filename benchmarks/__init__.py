"""Lowland and its peers side by side in one run; README.md here says what is measured and how."""
