"""Recipes: columns, types, dates, gaps, categories and scales of a table, and a method, as one Pipeline.

**A recipe is scikit-learn's own `Pipeline`**, not a class of ours: it is cloned, searched, pickled and put into other
pipelines as any other, and a model file holds it. `composing` decides which steps there are and in which order; a step
that would do nothing is left out. The steps themselves, with what they learn, are in `methods/steps`.

**Nothing is guessed.** By default a gap, or a word in a column of numbers, is an error that names the option for it,
and categories are left out with a warning unless the method takes them. What happens to cells changes the map, so the
user says it once, and new rows are treated in the same way.

**Proposals.** `proposal` looks at a table and returns a command line with an option for each thing that stands in the
way; `lowland info` shows it. It only reads the table.
"""

from __future__ import annotations

from .composing import recipe

__all__ = ["recipe"]
