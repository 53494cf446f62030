"""The commands of the recovery plane, as the fuzzer sends them (docs/CONTRACT.md, *Commands*).

One flat record for all of them: a command is data that is drawn, shrunk, written to a trace and sent through a pipe, and
never carries behaviour. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fuzzresume.contract.workload import Question, Token

Op = Literal[
    "start", "resume", "redeliver", "stray", "fork", "recover", "retry", "recover2", "restart", "inspect", "reload", "tamper"
]  # fmt: skip
OPS: tuple[Op, ...] = get_args(Op)

BranchName = Literal["latest", "trunk"]
Address = Literal["latest", "question"]
Death = Literal["kill", "exception"]

DELIVERIES: frozenset[str] = frozenset({"resume", "redeliver", "stray", "fork"})
"""Commands that carry an answer token."""

TAMPER_KINDS = ("truncated", "half-written", "empty", "dropped-field", "wrong-type", "forged-progress", "extra-field")
"""Ways to damage a store. `extra-field` may be ignored, every other kind must be refused before an effect fires."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Die at the `nth` passing of hook `hook` during the command: a hint, what happened is read from ledger and frontier.

    `by="kill"` ends the process (SIGKILL where there is one); `by="exception"` raises in the task, and is a task's own
    failure, so only hooks of the form `effect.before:T` and `effect.after:T` can raise.
    """

    hook: str
    nth: int = 1
    by: Death = "kill"

    def __post_init__(self) -> None:
        if self.nth < 1:
            raise ValueError(f"a crash point counts from 1, got nth={self.nth}")
        if self.by not in get_args(Death):
            raise ValueError(f"a crash is by 'kill' or by 'exception', not by {self.by!r}")
        if self.by == "exception" and not self.hook.startswith("effect."):
            raise ValueError(f"an exception is raised by a task, at effect.before:T or effect.after:T, not at {self.hook!r}")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Which fields an `op` needs is checked on construction (ValueError names the field).

    `at` says how a resume is addressed: by `latest` (no address on the wire but what the API demands) or by the opaque
    address that came with the `question`. `branch` says which branch is meant once a fork exists. `kind` is the kind of a
    `tamper`. `crash` and `poison` are the modifiers of any command that runs tasks.
    """

    op: Op
    token: Token | None = None
    at: Address = "latest"
    branch: BranchName = "latest"
    crash: CrashPoint | None = None
    poison: int | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise ValueError(f"op: unknown command {self.op!r}; one of {', '.join(OPS)}")
        if (self.op in DELIVERIES) != (self.token is not None):
            raise ValueError(f"token: {self.op} {'needs' if self.op in DELIVERIES else 'carries no'} answer token")
        if (self.op == "tamper") != (self.kind is not None):
            raise ValueError(f"kind: {self.op} {'needs a kind of damage' if self.op == 'tamper' else 'has no kind'}")
        if self.kind is not None and self.kind not in TAMPER_KINDS:
            raise ValueError(f"kind: unknown damage {self.kind!r}; one of {', '.join(TAMPER_KINDS)}")
        if self.at not in get_args(Address):
            raise ValueError(f"at: {self.at!r} is not one of {', '.join(get_args(Address))}")
        if self.branch not in get_args(BranchName):
            raise ValueError(f"branch: {self.branch!r} is not one of {', '.join(get_args(BranchName))}")

    @property
    def question(self) -> Question | None:
        """The question that the token was meant for."""
        return self.token.question if self.token else None


def letters(commands: tuple[Command, ...]) -> dict[Token, str]:
    """Short names a, b, c … for the distinct tokens of a trace, in order of first delivery."""
    names: dict[Token, str] = {}
    for command in commands:
        if command.token is not None and command.token not in names:
            n, name = len(names), ""
            while n >= 0:
                n, name = n // 26 - 1, chr(ord("a") + n % 26) + name
            names[command.token] = name
    return names


def say(command: Command, names: dict[Token, str], asks: int = 1) -> str:
    """A command in words, such as `fork(a, gate 2)` or `recover, killed at effect.after:3`.

    `asks` is the number of questions of the gate meant; with more than one the question is named too.
    """
    words: str = command.op
    if command.token is not None:
        gate = f"gate {command.token.question.task}"
        if asks > 1:
            gate += f" question {command.token.question.index}"
        words += (
            f"({names.get(command.token, command.token.text)}, {gate}{', addressed' if command.at == 'question' else ''})"
        )
    if command.kind is not None:
        words += f"({command.kind})"
    if command.branch != "latest":
        words += f" @{command.branch}"
    if command.poison is not None:
        words += f", task {command.poison} returns an invalid update"
    if command.crash is not None:
        nth = f" (passing {command.crash.nth})" if command.crash.nth > 1 else ""
        words += f", {'killed' if command.crash.by == 'kill' else 'exception'} at {command.crash.hook}{nth}"
    return words
