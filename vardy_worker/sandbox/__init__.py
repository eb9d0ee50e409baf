"""The sandbox: a child process that runs one program at a time in a WebAssembly guest.

Nothing here imports any other part of Vardy, so that a child loads no more than the
standard library and wasmtime. `docs/sandbox.md` describes limits, values and threats.
"""
