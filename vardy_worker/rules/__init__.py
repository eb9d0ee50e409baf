"""Rules over effects and plans: the YAML file, the CEL language, and their evaluation."""

from vardy_worker.rules.cel import CelRules
from vardy_worker.rules.load import DEFAULT_RULES

__all__ = ["DEFAULT_RULES", "CelRules"]
