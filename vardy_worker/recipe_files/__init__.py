"""Recipes as files, so that they can live in a repository and be reviewed there. Pure."""

from vardy_worker.recipe_files.reading import RecipeFile, read_recipe_file
from vardy_worker.recipe_files.writing import FILE_SUFFIX, recipe_file_name, recipe_file_text

__all__ = ["FILE_SUFFIX", "RecipeFile", "read_recipe_file", "recipe_file_name", "recipe_file_text"]
