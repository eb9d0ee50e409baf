"""Adapters: each library of the outside is touched in one of these modules only."""
