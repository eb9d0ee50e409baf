"""The command line: `vardy`.

Commands talk to the HTTP API through the Python client, so that all they do is
authenticated. The modules with commands import nothing heavy, which keeps `--help` and
shell completion quick: client, contracts and rendering are loaded when a command runs.
"""
