"""Finding the company's functions by the name that `VARDY_FUNCTIONS` gives."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import SettingsError, VardyError
from vardy_worker.functions.registry import Functions

if TYPE_CHECKING:
    from types import ModuleType

SETTING = "VARDY_FUNCTIONS"


def load_functions(name: str) -> Functions:
    """The `Functions` at `module:attribute`; the working directory is importable.

    Raises `SettingsError` that names the setting and the fix, and lets the
    `RegistrationError` of a wrong function through. Exceptions of the company's own
    module are kept as the cause.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise _error(f"must look like module:attribute, for example shop.functions:functions, not {name!r}")
    module = _import(module_name)
    found: object = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise _error(f"names {attribute!r}, which {module_name} does not define{_offer(module)}")
        found = getattr(found, part)
    if not isinstance(found, Functions):
        raise _error(f"names {attribute!r}, which is {_article(type(found).__name__)}, not a Functions{_offer(module)}")
    if not len(found):
        raise _error(f"names {attribute!r}, in which no function is registered")
    return found


def _import(module_name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except VardyError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise _error(
                f"names the module {module_name}, which cannot be found from {here}: correct the name, start in the "
                "folder that holds it, or install it"
            ) from error
        raise _error(f"names {module_name}, which imports {missing}, which is not installed") from error
    except Exception as error:
        raise _error(f"names {module_name}, whose import fails with {type(error).__name__}") from error


def _offer(module: ModuleType) -> str:
    names = sorted(name for name, value in vars(module).items() if isinstance(value, Functions))
    return f"; it has {', '.join(f'{module.__name__}:{name}' for name in names)}" if names else ""


def _article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _error(problem: str) -> SettingsError:
    return SettingsError(f"{SETTING} {problem}.", details={"setting": SETTING})
