"""The commands, a module for each group. They import nothing heavy; see `vardy_api.cli`."""
