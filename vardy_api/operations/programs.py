"""Checking a program that nobody submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.operations.submit import check_functions
from vardy_api.shapes import CheckedProgram
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.program import Extracted, Finding, NoProgram
from vardy_worker.programs import check, extract, too_large

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.shapes import ProgramCheck
    from vardy_worker.contracts.functions import Catalogue

_HINTS = {
    "generation.no_program": "Define `async function run(params)`, in a fence or alone.",
    "generation.program_too_large": "Write a shorter one, without data inside.",
}


class ProgramOperations:
    """The use case of checking a program. Nothing is stored, and nothing runs."""

    def __init__(self, catalogue: CatalogueReader, *, program_bytes_max: int) -> None:
        self._catalogue = catalogue
        self._program_bytes_max = program_bytes_max

    def check(self, caller: Caller, request: ProgramCheck) -> CheckedProgram:
        """All findings, for the functions that the person may use. Any key may ask.

        Raises `request.invalid` unless exactly one of source and text is given, and for a
        function that the person does not have; `auth.person`.
        """
        if (request.source is None) == (request.text is None):
            message = "Give exactly one of source and text."
            raise RequestError(message, details={"problems": [{"at": "/source", "message": message}]})
        catalogue = self._visible(caller, request)
        found = self._program(request, catalogue)
        if isinstance(found, NoProgram):
            hint = _HINTS.get(found.code, "")
            finding = Finding(code=found.code, message=found.message, line=1, column=1, hint=hint)
            return CheckedProgram(ok=False, findings=(finding,), source="")
        findings = check(found.source, catalogue, judge=request.judge, line_map=found.line_map)
        ok = all(finding.severity != "error" for finding in findings)
        return CheckedProgram(ok=ok, findings=findings, source=found.source, line_map=found.line_map)

    def _program(self, request: ProgramCheck, catalogue: Catalogue) -> Extracted | NoProgram:
        if request.text is not None:
            functions = [spec.name for spec in catalogue.functions]
            return extract(request.text, program_bytes_max=self._program_bytes_max, functions=functions)
        source = request.source or ""
        size = len(source.encode())
        if size > self._program_bytes_max:
            return too_large(size, self._program_bytes_max)
        return Extracted(source=source, line_map=())

    def _visible(self, caller: Caller, request: ProgramCheck) -> Catalogue:
        """The functions of the person; all of them where neither request nor key names one."""
        catalogue = self._catalogue.current()
        named = request.user is not None or caller.key.person is not None
        user = caller.person(request.user) if named else None
        if request.functions is not None:
            check_functions(request.functions, user, catalogue)
        if user is not None:
            return catalogue.for_user(user.roles, request.functions)
        if request.functions is None:
            return catalogue
        chosen = tuple(spec for spec in catalogue.functions if spec.name in request.functions)
        return catalogue.model_copy(update={"functions": chosen})
