"""`--scale` among the steps: columns are scaled once, and before the steps that follow scaling."""

from __future__ import annotations

from dataclasses import replace

from .answer import UsageError, note
from .options import MethodOptions, TableOptions


def scaled_once(scale: bool, columns: TableOptions) -> tuple[bool, TableOptions]:
    """Return whether the command itself scales the columns, and the options with --scale as a step where it is one.

    The rows of --normalize and the axes of --pre are not scaled: their step follows that of --scale.

    >>> from lowland.cli.recipe_options import RecipeOptions
    >>> scale, columns = scaled_once(True, TableOptions(recipe=RecipeOptions(pre="pca:50")))
    >>> scale, columns.recipe.scaler
    (False, 'standard')
    """
    recipe = columns.recipe
    if not scale:
        return False, columns
    if recipe.scaler is not None:
        raise UsageError("--scale and --scaler both scale the columns; use one of them")
    if recipe.categories == "famd":
        note("--categories famd scales the columns by itself; --scale adds nothing")
        return False, columns
    if recipe.pre is not None or recipe.normalize is not None:
        return False, replace(columns, recipe=replace(recipe, scaler="standard"))
    return True, columns


def method_scaled_once(options: MethodOptions, columns: TableOptions) -> tuple[MethodOptions, TableOptions]:
    """Return the options of a method and of its table by the same rule."""
    scale, columns = scaled_once(options.scale, columns)
    return replace(options, scale=scale), columns
