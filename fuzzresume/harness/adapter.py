"""The shape of an adapter: a framework's calls behind the contract's commands (docs/DESIGN.md, *What an adapter is*).

An adapter translates; it never judges. Race, reload, crash, redeliver, stray and poison are the harness's alone, an
adapter has no line for them. Standard library only.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from fuzzresume.contract.commands import Unit
from fuzzresume.contract.observation import Frontier, Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import Env, Store
from fuzzresume.harness.keeper import FILES, Keeper


@dataclass(frozen=True, slots=True)
class Documented:
    """A weaker rule that the framework states: the switch it excuses, the rule in our words, where, for which version."""

    switch: str
    rule: str
    where: str
    version: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can express under given options. Each field is a fact about the API, never a wish.

    - `absent`: why there is nothing to resume at all in this version, in words; then everything else is moot.
    - `fork`: the discriminator that says *fork* on the wire, in words (None: it has none, FD and FI are inapplicable).
    - `addressed`: a resume can carry the opaque address that came with the question.
    - `trunk`: after a fork, commands can still be sent to the trunk.
    - `names_question`: a resume addressed by `latest` names its question on the wire.
    - `durable`: the store survives SIGKILL; otherwise `Store.folder` is not made. `keeper` makes and copies it.
    - `schema`: a state schema is declared. `retry`: a process that saw an exception can try again without a reload.
      `tamper`: the kinds of damage the adapter can do.
    - `units`: what beside processes can race: `threads` of one process, `coroutines` of one event loop (then the life is
      an `AwaitedLife`). `shared`: such racers share one life, as the requests to a server share its application, because
      the framework says that they may; otherwise each has a life of its own.
    - `images` / `in_process`: a copy of the store / an exception is a faithful death (docs/DESIGN.md, *Three ways to die*).
    - `other_schedule`: option values under which the same program runs by another schedule and number of workers, which
      must decide nothing: the second recovery of `recover2` has them. `slow`: those of an option that puts off what the
      framework does not wait for, as a slow disk does, and their values without the delay.
    - `monotone`: along one command what is durable only grows; False where something durable comes and goes, such as a lock.
    - `deterministic`: two executions of one trace pass the same hooks in the same order.
    - `records`: the framework promises a durable record per task before the next one runs; `claims_exactly_once`: it
      claims that even the in-doubt task runs once. `documented`: the weaker rules it states.
    """

    absent: str = ""
    fork: str | None = None
    addressed: bool = False
    trunk: bool = False
    names_question: bool = True
    durable: bool = True
    keeper: Keeper = FILES
    schema: bool = False
    retry: bool = False
    tamper: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    shared: bool = False
    images: bool = True
    in_process: bool = True
    other_schedule: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, str] = field(default_factory=dict)
    monotone: bool = True
    deterministic: bool = True
    records: bool = True
    claims_exactly_once: bool = False
    documented: tuple[Documented, ...] = ()


@dataclass(frozen=True, slots=True)
class OnRequest:
    """An option's value that the fuzzer never draws, only the user pins: what it needs beyond the adapter's own packages.

    `packages` also decide the behaviour; `extra` is the extra of fuzzresume that brings them ("": the adapter's own).
    """

    packages: tuple[str, ...] = ()
    extra: str = ""


T = TypeVar("T")
Told = TypeVar("Told", covariant=True)


class Calls(Protocol[Told]):
    """The contract's commands as calls of the framework.

    Each call tells the outcome the framework showed, or raises: `Unsupported` for what the API cannot express, and
    whatever the framework raises (the harness makes it a refusal). `branch` is the opaque address of a branch's position
    (None: what the framework calls the latest), `address` the one that came with a question (None: not on the wire).
    """

    def start(self) -> Told:
        """Send the input to a run that nobody has started."""
        ...

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Told:
        """Deliver `answer`. Redeliver and stray are this same wire call with another intent."""
        ...

    def fork(self, question: Question, answer: str, *, address: str) -> Told:
        """Answer `question` anew at its interrupt checkpoint, with the framework's own discriminator for a fork."""
        ...

    def recover(self, *, branch: str | None) -> Told:
        """The framework's documented recovery call, with no new information."""
        ...

    def restart(self) -> Told:
        """Send the input again to the same run."""
        ...

    def inspect(self, *, branch: str | None) -> Told:
        """Read state, history and pending questions through the public API; tells an `inert` outcome."""
        ...


class Life(Calls[Outcome], Protocol):
    """Everything that one process holds in memory about one run. Dropped at a crash, rebuilt from the store."""

    def close(self) -> None:
        """Release what the life holds (connections, loops). Also called after an in-process death."""
        ...


class AwaitedLife(Life, Protocol):
    """A life on an event loop of its own, several of whose calls can be under way at once.

    Its hooks are awaited (`Env.awaited_hook`), and its loop calls `Env.on_idle` before it waits.
    """

    @property
    def awaited(self) -> Calls[Coroutine[Any, Any, Outcome]]:
        """The calls as coroutines."""
        ...

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the loop until the coroutine has ended."""
        ...


class Adapter(Protocol):
    """A framework as a target. `options` maps each option to the values the fuzzer may draw, the default first.

    It may also have `on_request`, further values of these options (see `OnRequest`).
    """

    name: str
    packages: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`."""
        ...

    def valid(self, options: Mapping[str, str]) -> bool:
        """Whether this combination of values makes sense; the fuzzer draws only valid ones."""
        ...

    def life(self, env: Env) -> Life:
        """Build one process's view of the run in `env`, from its store."""
        ...

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead store, running nothing. `branch` None means the newest position."""
        ...

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the store. Raises Unsupported for a kind not in the capabilities."""
        ...


WRONG_TYPE = 18
"""What the damage `wrong-type` puts where a text is declared: another number than a poison's, which a broken target may
have stored there itself, so that the damage is a change."""


def on_request(adapter: Adapter) -> Mapping[str, Mapping[str, OnRequest]]:
    """The values on request of each option that has some; an adapter need not have the attribute."""
    found: Mapping[str, Mapping[str, OnRequest]] = getattr(adapter, "on_request", {})
    return found
