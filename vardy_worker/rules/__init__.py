"""Rules over effects and plans: the YAML file, the CEL language, and their evaluation."""

from vardy_worker.rules.cel import CelRules

__all__ = ["CelRules"]
