"""The limits of one job. Each has a setting (`VARDY_` + the name in capitals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from vardy_worker.contracts.base import Contract

if TYPE_CHECKING:
    from collections.abc import Mapping

KIB = 1024
MIB = 1024 * KIB


class Limits(Contract):
    """Every limit, named with its unit. A request may lower them, never raise them."""

    execute_seconds_max: float = Field(30, gt=0, description="wall clock of one program, host calls included")
    guest_cpu_seconds_max: float = Field(5, gt=0, description="CPU time inside the guest")
    guest_memory_mib_max: int = Field(64, ge=8, le=1024, description="memory of the guest")
    program_bytes_max: int = Field(65_536, ge=1, description="source of a program")
    calls_max: int = Field(256, ge=0, description="function calls of one program")
    calls_in_flight_max: int = Field(16, ge=1, description="function calls running at once")
    call_args_bytes_max: int = Field(MIB, ge=2, description="arguments of one call")
    call_result_bytes_max: int = Field(4 * MIB, ge=4, description="result of one call")
    effects_max: int = Field(200, ge=0, description="effects of one plan")
    plan_bytes_max: int = Field(MIB, ge=2, description="canonical bytes of one plan")
    output_bytes_max: int = Field(256 * KIB, ge=4, description="what a program returns")
    summary_bytes_max: int = Field(8 * KIB, ge=64, description="of a round's result, what the model sees in explore")
    explore_rounds_max: int = Field(4, ge=1, le=20, description="programs of one explore")
    judge_calls_max: int = Field(20, ge=0, description="model calls of the judge for one job")
    judge_tokens_max: int = Field(200_000, ge=0, description="tokens of the judge for one job, both ways")
    console_bytes_max: int = Field(64 * KIB, ge=0, description="captured console text")
    generation_attempts: int = Field(2, ge=1, le=10, description="model answers asked for one program")

    def lowered(self, wanted: Mapping[str, float]) -> Limits:
        """These limits with those that a request wants lower; one that is higher changes nothing.

        Raises pydantic's `ValidationError` for a name or value that there is not.
        """
        asked = Limits.model_validate(wanted).model_dump(include=set(wanted))
        return self.model_copy(update={name: min(value, getattr(self, name)) for name, value in asked.items()})
