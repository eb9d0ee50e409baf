"""How answers are written, and how conditional headers are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from vardy_api.http.entity_tags import content_tag
from vardy_api.shapes import WAIT_SECONDS_MAX
from vardy_worker.contracts.view import job_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from vardy_api.operations.shared_reads import ReadJob
    from vardy_worker.contracts.job import JobRecord

RETRY_AFTER_SECONDS = "1"


def body(model: BaseModel, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that carries a model, serialised once."""
    return Response(
        model.model_dump_json(by_alias=True), status_code=status, media_type="application/json", headers=headers
    )


def job_answer(job: JobRecord, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that carries a job, with the tag that reading it would have."""
    answer = body(job_view(job), status=status, headers=headers)
    answer.headers["ETag"] = content_tag(answer.body)
    return answer


def read_answer(read: ReadJob, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The same, of a job whose view was made already."""
    told = {"ETag": content_tag(read.body), **(headers or {})}
    return Response(read.body, status_code=status, media_type="application/json", headers=told)


def accepted(job: JobRecord, headers: Mapping[str, str]) -> Response:
    """202: the job is stored and goes on; where to look, and when."""
    return job_answer(job, status=202, headers={**where_to_look(job), **headers})


def where_to_look(job: JobRecord) -> Mapping[str, str]:
    """The headers that say where a job is found, and when to look again."""
    return {"Location": f"/v1/jobs/{job.id}", "Retry-After": RETRY_AFTER_SECONDS}


def digest_in(if_match: str | None) -> str:
    """The digest that `If-Match` names; "" without one.

    A weak tag, several, or `*` name no single plan: they are returned as they are, and match none.
    """
    value = (if_match or "").strip()
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and '"' not in value[1:-1]
    return value[1:-1] if quoted else value


def wait_preferred(prefer: str | None) -> float:
    """The seconds that `Prefer: wait=N` asks for, at most 60; 0 without it, or when it is no number."""
    for preference in (prefer or "").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "wait":
            try:
                seconds = float(value.strip().strip('"'))
            except ValueError:
                return 0
            return min(seconds, WAIT_SECONDS_MAX) if seconds > 0 else 0
    return 0
