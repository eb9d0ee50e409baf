"""The demo: a small shop, its rules, and a scripted stand-in for a language model."""
