"""Recipes: columns, types, dates, gaps, categories and scales of a table, and a method, as one Pipeline."""

from __future__ import annotations

from .composing import recipe

__all__ = ["recipe"]
