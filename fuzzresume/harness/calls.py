"""One framework call on one life, and what its end means (docs/CONTRACT.md, *Every command ends in one outcome*).

Shared by every way of running a life, so that a refusal in process and a refusal in a worker are the same refusal.
Standard library only: workers import it.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.adapter import Adapter, AwaitedLife, Calls, Life
from fuzzresume.harness.env import Crash, Env, TaskFailure, Unsupported

T = TypeVar("T")

CallOp = Literal["start", "resume", "fork", "recover", "restart", "inspect"]

MESSAGE_LIMIT = 300
"""How many characters of a framework's error text an outcome keeps."""

_PLANTED = re.compile(re.escape(str(TaskFailure(0))).replace("0", r"(\d+)"))


@dataclass(frozen=True, slots=True)
class Call:
    """What a session sends to a life: intent is gone (redeliver and stray are a resume), addresses are resolved.

    `gated`: the life waits at every hook until it is told to go on (`harness.racing`).
    """

    op: CallOp
    question: Question | None = None
    answer: str = ""
    address: str | None = None
    branch: str | None = None
    crash: CrashPoint | None = None
    poison: int | None = None
    gated: bool = False


class Resident:
    """One life in this process.

    The adapter builds it inside the first call, so that a store which it refuses to open is that call's refusal.
    """

    def __init__(self, adapter: Adapter, env: Env) -> None:
        self.env = env
        self._adapter = adapter
        self._life: Life | None = None
        self._building = threading.Lock()

    def perform(self, call: Call) -> Outcome:
        """Make one call. Raises Unsupported for what the framework's API cannot express, and nothing of the framework's own.

        A dead life has crashed, whatever the call returned: a framework may swallow the death and report anything.
        """
        self.env.arm(call.crash, call.poison)
        try:
            outcome = _send(self.life(), call)
        except (Unsupported, KeyboardInterrupt):
            raise
        except BaseException as error:
            outcome = ended_by(error)
        return Outcome("crashed") if self.env.dead else outcome

    async def perform_awaited(self, call: Call) -> Outcome:
        """The same on the loop of a life that is an `AwaitedLife`."""
        self.env.arm(call.crash, call.poison)
        try:
            outcome = await _send(cast(AwaitedLife, self.life()).awaited, call)
        except (Unsupported, KeyboardInterrupt):
            raise
        except BaseException as error:
            outcome = ended_by(error)
        return Outcome("crashed") if self.env.dead else outcome

    def life(self) -> Life:
        """The life, which whoever comes first builds. Raises what the adapter raises."""
        with self._building:
            if self._life is None:
                self._life = self._adapter.life(self.env)
            return self._life

    def close(self) -> None:
        """Release the life; whatever of it is left over finds it dead and can neither pass a hook nor fire an effect."""
        self.env.arm(None, None)
        life, self._life = self._life, None
        if life is not None:
            # A half-dead framework may fail to close, and a closing life that passes a hook meets its own death.
            with contextlib.suppress(Exception, SystemExit):
                life.close()
        self.env.dead = True
        self.env.ledger.close()


def ended_by(error: BaseException) -> Outcome:
    """The outcome of a call that raised `error`: crashed, the task's own planted failure, or a refusal."""
    if isinstance(error, Crash):
        return Outcome("crashed")
    for link in _chain(error):
        if isinstance(link, TaskFailure):
            return Outcome("failed", task=link.task)
        if planted := _PLANTED.search(str(link)):
            return Outcome("failed", task=int(planted.group(1)))
    return Outcome("refused", error=type(error).__name__, message=_text(error)[:MESSAGE_LIMIT])


def _text(error: BaseException) -> str:
    """What an error says, as text that can be written: a framework may quote half a surrogate pair."""
    return str(error).encode(errors="backslashreplace").decode()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes, contexts and the members of groups, each once."""
    todo, seen = [error], set()
    while todo:
        link = todo.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        nearby = (link.__cause__, link.__context__, *getattr(link, "exceptions", ()))
        todo += [other for other in nearby if isinstance(other, BaseException)]


def _send(life: Calls[T], call: Call) -> T:
    match call.op:
        case "start":
            return life.start()
        case "restart":
            return life.restart()
        case "recover":
            return life.recover(branch=call.branch)
        case "inspect":
            return life.inspect(branch=call.branch)
        case "resume":
            return life.resume(_question(call), call.answer, address=call.address, branch=call.branch)
        case "fork":
            if call.address is None:
                raise ValueError("a fork needs the address of its question")
            return life.fork(_question(call), call.answer, address=call.address)


def _question(call: Call) -> Question:
    if call.question is None:
        raise ValueError(f"{call.op} needs the question that its answer is meant for")
    return call.question
