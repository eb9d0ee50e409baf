"""Programs: getting one out of a model's text, and checking it before anything runs.

Pure functions without I/O; the API and the worker share them.
"""

from vardy_worker.programs.checking import check, functions_called
from vardy_worker.programs.codes import FINDING_CODES
from vardy_worker.programs.excerpts import excerpt
from vardy_worker.programs.extraction import extract, too_large
from vardy_worker.programs.turns import read_turn

__all__ = ["FINDING_CODES", "check", "excerpt", "extract", "functions_called", "read_turn", "too_large"]
