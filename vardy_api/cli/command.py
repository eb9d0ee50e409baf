"""How commands are declared: a function from a `Session` to what it shows.

`command` gives every one of them `--json`, and those that use the API `--url` and
`--api-key`; it opens and closes the session, and shows the outcome.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, get_args

import typer

from vardy_api.cli.exits import ExitCode
from vardy_api.cli.options import ApiKey, JsonFlag, Url
from vardy_api.cli.session import Environment, Session
from vardy_api.cli.shown import Shown

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Shown | int])


def make_group(summary: str) -> typer.Typer:
    """A group of commands; alone it shows its help."""
    return typer.Typer(help=summary, no_args_is_help=True, rich_markup_mode="rich")


def command(
    group: typer.Typer, name: str, *, examples: Sequence[str], panel: str | None = None, connects: bool = True
) -> Callable[[CommandFunction], CommandFunction]:
    """Adds a command to a group. Its docstring is its help; `examples` are whole command lines.

    A command that returns a number has shown its outcome itself; the number is its exit code.
    """

    def register(function: CommandFunction) -> CommandFunction:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @functools.wraps(function)
        def invoke(
            *, ctx: typer.Context, as_json: bool, url: str | None = None, api_key: str | None = None, **values: Any
        ) -> int:
            environment = ctx.obj if isinstance(ctx.obj, Environment) else Environment()
            session = Session(environment, as_json=as_json, url=url, api_key=api_key)
            try:
                outcome = function(session, **values)
                return session.show(outcome) if isinstance(outcome, Shown) else ExitCode(outcome)
            finally:
                session.close()

        options = [_without_type_of_flags(each) for each in (*own, *_common(connects=connects))]
        _describe(invoke, [_parameter("ctx", typer.Context), *options])
        group.command(name, help=_help(function), epilog=_epilog(examples), rich_help_panel=panel)(invoke)
        return function

    return register


def _describe(invoke: Callable[..., int], parameters: Sequence[inspect.Parameter]) -> None:
    """Gives the function the signature that Typer shall read."""
    del invoke.__wrapped__  # type: ignore[attr-defined] # set by functools.wraps, and Typer would follow it
    invoke.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # honoured by inspect.signature
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    invoke.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def _common(*, connects: bool) -> list[inspect.Parameter]:
    as_json = _parameter("as_json", JsonFlag, default=False)
    if not connects:
        return [as_json]
    return [as_json, _parameter("url", Url, default=None), _parameter("api_key", ApiKey, default=None)]


def _without_type_of_flags(parameter: inspect.Parameter) -> inspect.Parameter:
    """Flags take no value, so their help must not name a type where others have the name of their value."""
    kind, *extra = get_args(parameter.annotation) or (None,)
    if kind is not bool:
        return parameter
    flags = []
    for each in extra:
        flag = copy.copy(each)
        flag.metavar = ""
        flags.append(flag)
    return parameter.replace(annotation=Annotated[(bool, *flags)])


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(function: CommandFunction) -> str:
    """The docstring with each paragraph on one line, for the terminal to wrap."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _epilog(examples: Sequence[str]) -> str:
    # Typer joins the lines of a paragraph, and reads square brackets as markup.
    escaped = [example.replace("[", "\\[") for example in examples]
    return "\n\n".join(["[bold]Examples[/bold]" if len(escaped) > 1 else "[bold]Example[/bold]", *escaped])
