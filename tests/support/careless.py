"""A company that does what docs/functions.md warns of: its functions write rows and secrets where logs go."""

from __future__ import annotations

import os
import sys

from vardy_worker import CallContext, FunctionError, Functions

functions = Functions()


@functions.read
def log_it(context: CallContext, text: str) -> str:
    """Logs its argument."""
    context.logger.warning("told", text=text)
    return text


@functions.read
def print_it(text: str) -> str:
    """Prints its argument, escaped."""
    sys.stderr.write(f"{[text]}\n")
    return text


@functions.read
def print_provider_key() -> int:
    """Prints what is in the worker's environment."""
    sys.stderr.write(f"key={os.environ['OPENAI_API_KEY']}\n")
    return 1


@functions.read
def refuse(text: str) -> str:
    """Fails with its argument as the message, for the person who asked."""
    raise FunctionError(f"There is no {text}")


@functions.write
def send(to: str) -> str:
    """Sends nothing."""
    return f"sent to {to}"
