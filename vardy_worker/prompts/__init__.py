"""What is sent to a language model: the texts, and the functions that fill them in. Pure."""

from __future__ import annotations

from vardy_worker.prompts.explore import explore_prompt
from vardy_worker.prompts.failure import property_names
from vardy_worker.prompts.program import program_prompt
from vardy_worker.prompts.repair import FailedTry, repair_prompt
from vardy_worker.prompts.shape import shape_of
from vardy_worker.prompts.summary import Summary, summarise
from vardy_worker.prompts.template import PROMPT_VERSIONS

__all__ = [
    "PROMPT_VERSIONS",
    "FailedTry",
    "Summary",
    "explore_prompt",
    "program_prompt",
    "property_names",
    "repair_prompt",
    "shape_of",
    "summarise",
]
