"""One framework call on one life, and what its end means (docs/CONTRACT.md, *Every command ends in one outcome*).

Shared by every way of running a life, so that a refusal in process and a refusal in a worker are the same refusal.
Standard library only: workers import it.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import re
import sys
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeVar, cast

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.adapter import Adapter, AwaitedLife, Calls, Life
from fuzzresume.harness.env import Crash, Env, TaskFailure, Unsupported
from fuzzresume.harness.target import AdapterSlip

T = TypeVar("T")

CallOp = Literal["start", "resume", "fork", "recover", "restart", "inspect"]

MESSAGE_LIMIT = 300
"""How many characters of a framework's error text an outcome keeps."""

SLIPS = (AttributeError, NameError, ImportError, TypeError)
"""What Python raises where code does not fit together. Raised by the adapter's own lines, it is the adapter's mistake."""

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
        """Make one call. Raises Unsupported for what the framework's API cannot express, AdapterSlip for a mistake in the
        adapter's own code, and nothing of the framework's own.

        A dead life has crashed, whatever the call returned: a framework may swallow the death and report anything.
        """
        self.env.arm(call.crash, call.poison)
        try:
            outcome = _send(self.life(), call)
        except (Unsupported, KeyboardInterrupt):
            raise
        except BaseException as error:
            outcome = self.ended(error, call.op)
        return Outcome("crashed") if self.env.dead else outcome

    async def perform_awaited(self, call: Call) -> Outcome:
        """The same on the loop of a life that is an `AwaitedLife`."""
        self.env.arm(call.crash, call.poison)
        try:
            outcome = await _send(cast(AwaitedLife, self.life()).awaited, call)
        except (Unsupported, KeyboardInterrupt):
            raise
        except BaseException as error:
            outcome = self.ended(error, call.op)
        return Outcome("crashed") if self.env.dead else outcome

    def ended(self, error: BaseException, op: CallOp) -> Outcome:
        """The outcome of a call that raised `error`. Raises AdapterSlip for a mistake in the adapter's own code.

        A death explains whatever the adapter trips over afterwards, and so does an exception that was planted.
        """
        outcome = ended_by(error)
        if outcome.kind == "refused" and not self.env.dead and (words := _slip(error, self._adapter, self._life)):
            raise AdapterSlip(f"the adapter slipped in {op}: {words}") from error
        return outcome

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


def _slip(error: BaseException, adapter: Adapter, life: Life | None) -> str:
    """What the adapter did wrong and where, in one line; "" when `error` is not the adapter's mistake.

    It is where Python itself raised it and the innermost frame is the adapter's, or is this module's, which calls the
    adapter: then a method is missing or takes other arguments. An error out of the framework has a frame of the framework,
    and what a `raise` says, such as a check of the state's types, is said on purpose.
    """
    link = error.__traceback__
    if type(error).__module__ != "builtins" or not isinstance(error, SLIPS) or link is None:
        return ""
    while link.tb_next is not None:
        link = link.tb_next
    code, module = link.tb_frame.f_code, str(link.tb_frame.f_globals.get("__name__"))
    if dis.opname[code.co_code[link.tb_lasti]] == "RAISE_VARARGS":
        return ""
    words = " ".join(f"{type(error).__name__}: {_text(error)[:MESSAGE_LIMIT]}".split())
    if module == __name__:
        return words
    if module not in (type(adapter).__module__, type(life).__module__) and not _beside(module, adapter):
        return ""
    return f"{words} ({Path(code.co_filename).name}:{link.tb_lineno})"


def _beside(module: str, adapter: Adapter) -> bool:
    """Whether a module lies in the folder of the package that holds the adapter's module.

    A framework may bring its adapter itself; what lies beside that is the framework.
    """
    package = getattr(sys.modules.get(type(adapter).__module__), "__package__", None)
    if not package or package not in (module, module.rpartition(".")[0]):
        return False
    return not _distributions(package.partition(".")[0]) & _normal(adapter.packages)


@functools.cache
def _distributions(package: str) -> frozenset[str]:
    """The distributions that bring an import package."""
    return _normal(metadata.packages_distributions().get(package, ()))


def _normal(names: Collection[str]) -> frozenset[str]:
    """Names of distributions as packaging tools compare them."""
    return frozenset(re.sub(r"[-_.]+", "-", name).lower() for name in names)


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
