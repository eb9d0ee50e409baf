"""One job with one effect, through one moment, until nothing more can be done for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from vardy_worker import verbs
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.execution import GuestCall, Returned, Stopped, StopProgram
from vardy_worker.contracts.job import Submission
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.testing.clock import MovableClock
from vardy_worker.testing.crash_host import CrashHost, WorkerLost
from vardy_worker.testing.parts import Parts, make_settings
from vardy_worker.testing.scripts import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.execution import CallReply, SandboxOutcome, SandboxRun
    from vardy_worker.contracts.functions import FunctionSpec
    from vardy_worker.contracts.job import JobRecord

ROUNDS_MAX: Final = 2
"""How often an operator puts a commit right; the second time when the first was in vain."""
OPERATOR: Final = "operator"


class CrashTrial:
    """A worker whose first call meets the moment, and those that come after it. A context manager.

    `operator` are the steps that an operator had to take. `applied` is by how much the
    probe grew since the worker started. `repeated_in_vain`: a repeated call reached the
    function, and its outcome had to be looked up all the same.
    """

    def __init__(self, host: CrashHost, function: str, probe: Callable[[], int] | None) -> None:
        self._host = host
        self._probe = probe
        self._applied_before = 0
        self._parts = Parts(host, clock=MovableClock(), settings=make_settings({}, {}))
        self._parts.apply_rules("default: allow\n")
        self._function = function
        self._job_id = ""
        self.operator: list[str] = []
        self.repeated_in_vain = False

    def __enter__(self) -> Self:
        self._host.start()
        self._applied_before = 0 if self._probe is None else self._probe()
        return self

    def __exit__(self, *_: object) -> None:
        self._host.let_go()
        self._parts.close()
        self._host.stop()

    @property
    def spec(self) -> FunctionSpec:
        """What the catalogue says of the function."""
        return next(spec for spec in self._host.catalogue().functions if spec.name == self._function)

    @property
    def job(self) -> JobRecord:
        """The job as it is stored."""
        return self._parts.job(self._job_id)

    @property
    def applied(self) -> int | None:
        """By how much the probe grew; None without one."""
        return None if self._probe is None else self._probe() - self._applied_before

    def run(self, args: JsonObject, user: User | None) -> None:
        """Submits, commits, and settles the effect. Raises `ValueError` when there is nothing to commit."""
        asks = user or User(id="requester", roles=self.spec.roles)
        self._job_id = self._parts.new_job(Submission(request="Scripted.", params=args, user=asks))
        self._host.meanwhile = self._deliver_again
        program = f"async function run(params) {{\n  await {self._function}(params);\n  return null;\n}}"
        self._survive(lambda: self._parts.deliver(ScriptedModel([program]), _OneCall(self._function, args)))
        if self.job.plan is None:
            reason = self.job.error.message if self.job.error else self.job.status
            raise ValueError(f"There is no effect to commit: {reason}")
        self._settle()
        for _ in range(ROUNDS_MAX):
            if self.job.status is Status.PARTIAL or (self._is_refused and not self.operator):
                self._operate()
        self._host.let_go()
        self._deliver_again()

    @property
    def _is_refused(self) -> bool:
        """The commit ended with what failed before the call; the function itself was not asked."""
        return self.job.status is Status.FUNCTION_ERROR and not self._host.calls

    def _settle(self) -> None:
        self._survive(lambda: self._parts.settle(self._job_id))

    def _survive(self, act: Callable[[], None]) -> None:
        """When a worker is lost, its lease runs out, the reconciler notices, and another goes on."""
        try:
            act()
        except WorkerLost:
            self._parts.next_worker()
            self._parts.forward(self._parts.settings.execute_lease_seconds + 1)
            self._parts.settle(self._job_id)

    def _deliver_again(self) -> None:
        """The message comes once more, to another worker."""
        self._parts.next_worker()
        self._parts.commits().commit(self._job_id)

    def _operate(self) -> None:
        """Requeues; an effect that may not be repeated, or was in vain, is looked up and resolved first."""
        if "requeue" in self.operator or not self._requeue():
            if self._probe is None:
                return
            self._resolve()
            self._requeue()

    def _requeue(self) -> bool:
        catalogue, now_ms = self._host.catalogue(), self._parts.clock.now_ms()
        try:
            change = verbs.requeue(self.job, catalogue=catalogue, by=OPERATOR, now_ms=now_ms)
        except RequestError as error:
            if error.code != "commit.unresolved":
                raise
            return False
        self.operator.append("requeue")
        self._parts.change(change)
        self._settle()
        return True

    def _resolve(self) -> None:
        # Whoever looks it up waits until nothing is under way any more.
        self.repeated_in_vain = len(self._host.calls) > 1
        self._host.let_go()
        done = bool(self.applied)
        self.operator.append("resolve done" if done else "resolve not done")
        change = verbs.resolve(
            self.job,
            0,
            done=done,
            result=None,
            reason="Counted.",
            by=OPERATOR,
            now_ms=self._parts.clock.now_ms(),
            check_result=lambda _function, _result: None,
        )
        self._parts.change(change)


class _OneCall:
    """A program of one call, played without a child: this is about what comes after it."""

    def __init__(self, function: str, args: JsonObject) -> None:
        self._call = GuestCall(id=0, function=function, args=args)

    def run(
        self,
        _run: SandboxRun,
        handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]],
        *,
        started: Callable[[], None] | None = None,
    ) -> SandboxOutcome:
        """See `Sandbox.run`."""
        if started is not None:
            started()
        try:
            handle([self._call])
        except StopProgram:
            return Stopped()
        return Returned(output=None)

    def close(self) -> None:
        """See `Sandbox.close`."""
