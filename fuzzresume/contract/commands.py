"""The commands of the recovery plane, as the fuzzer sends them (docs/CONTRACT.md, *Commands*).

One flat record for all of them: a command is data that is drawn, shrunk, written to a trace and sent through a pipe, and
never carries behaviour. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from fuzzresume.contract.workload import Question, Token

Op = Literal[
    "start", "resume", "redeliver", "stray", "fork", "recover", "retry", "recover2", "restart", "inspect", "reload",
    "tamper", "race",
]  # fmt: skip
OPS: tuple[Op, ...] = get_args(Op)

BranchName = Literal["latest", "trunk"]
Address = Literal["latest", "question"]
Death = Literal["kill", "exception"]

Unit = Literal["processes", "threads", "coroutines"]
UNITS: tuple[Unit, ...] = get_args(Unit)

RACES: frozenset[str] = frozenset({"resume", "redeliver", "fork", "recover"})
"""Commands that can race."""

MOST_RACERS = 8
"""Racers of one race, at most; two at least."""

DELIVERIES: frozenset[str] = frozenset({"resume", "redeliver", "stray", "fork"})
"""Commands that carry an answer token."""

TAMPER_KINDS = ("truncated", "half-written", "empty", "dropped-field", "wrong-type", "forged-progress", "extra-field")
"""Ways to damage a store. `extra-field` may be ignored, every other kind must be refused before an effect fires."""


ELSEWHERE = "elsewhere"
"""The kind of an `inspect` that another process makes, while the present one lives."""


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
class Turn:
    """One racer goes on until it is about to pass `hook` for the `nth` time since the race began; without a hook, or where
    it never gets there, until its command has ended. `racer` counts from 0."""

    racer: int
    hook: str = ""
    nth: int = 1


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Which fields an `op` needs is checked on construction (ValueError names the field).

    `at` says how a resume is addressed: by `latest` (no address on the wire but what the API demands) or by the opaque
    address that came with the `question`. `branch` says which branch is meant once a fork exists. `kind` is the kind of a
    `tamper`, or says that an `inspect` comes from `elsewhere`. `crash` and `poison` are the modifiers of any command that
    runs tasks. A `race` sends the commands of its `racers`, each from a `unit` of its own, in the order that `turns` say;
    who is left when the turns are over goes on to its end, one after the other, and last the one that had the last turn.
    """

    op: Op
    token: Token | None = None
    at: Address = "latest"
    branch: BranchName = "latest"
    crash: CrashPoint | None = None
    poison: int | None = None
    kind: str | None = None
    racers: tuple[Command, ...] = ()
    turns: tuple[Turn, ...] = ()
    unit: Unit = "processes"

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise ValueError(f"op: unknown command {self.op!r}; one of {', '.join(OPS)}")
        if (self.op in DELIVERIES) != (self.token is not None):
            raise ValueError(f"token: {self.op} {'needs' if self.op in DELIVERIES else 'carries no'} answer token")
        elsewhere = self.op == "inspect" and self.kind == ELSEWHERE
        if (self.op == "tamper") != (self.kind is not None) and not elsewhere:
            raise ValueError(f"kind: {self.op} {'needs a kind of damage' if self.op == 'tamper' else 'has no kind'}")
        if self.op == "tamper" and self.kind not in TAMPER_KINDS:
            raise ValueError(f"kind: unknown damage {self.kind!r}; one of {', '.join(TAMPER_KINDS)}")
        if self.at not in get_args(Address):
            raise ValueError(f"at: {self.at!r} is not one of {', '.join(get_args(Address))}")
        if self.branch not in get_args(BranchName):
            raise ValueError(f"branch: {self.branch!r} is not one of {', '.join(get_args(BranchName))}")
        if self.racers or self.turns or self.op == "race":
            self._check_race()

    def _check_race(self) -> None:
        if self.op != "race":
            raise ValueError(f"racers: {self.op} is no race")
        if not 2 <= len(self.racers) <= MOST_RACERS:
            raise ValueError(f"racers: a race has 2 to {MOST_RACERS} of them, not {len(self.racers)}")
        for racer in self.racers:
            if racer.op not in RACES:
                raise ValueError(f"racers: {racer.op} cannot race; one of {', '.join(sorted(RACES))}")
        for turn in self.turns:
            if not 0 <= turn.racer < len(self.racers) or turn.nth < 1:
                raise ValueError(f"turns: racer {turn.racer}, passing {turn.nth}, in a race of {len(self.racers)}")
        if self.unit not in UNITS:
            raise ValueError(f"unit: {self.unit!r} is not one of {', '.join(UNITS)}")

    @property
    def question(self) -> Question | None:
        """The question that the token was meant for."""
        return self.token.question if self.token else None

    @property
    def sent(self) -> tuple[Command, ...]:
        """The commands that reach the framework: a race's racers, else the command itself."""
        return self.racers or (self,)


def letters(commands: tuple[Command, ...]) -> dict[Token, str]:
    """Short names a, b, c … for the distinct tokens of a trace, in order of first delivery."""
    names: dict[Token, str] = {}
    for command in (racer for sent in commands for racer in sent.sent):
        if command.token is not None and command.token not in names:
            n, name = len(names), ""
            while n >= 0:
                n, name = n // 26 - 1, chr(ord("a") + n % 26) + name
            names[command.token] = name
    return names


def say(command: Command, names: dict[Token, str], asks: Callable[[Question], int] = lambda question: 1) -> str:
    """A command in words, such as `fork(a, gate 2)` or `recover, killed at effect.after:3`.

    `asks` is the number of questions of a question's gate; with more than one the question is named too.
    """
    words: str = command.op
    if command.token is not None:
        gate = f"gate {command.token.question.task}"
        if asks(command.token.question) > 1:
            gate += f" question {command.token.question.index}"
        words += (
            f"({names.get(command.token, command.token.text)}, {gate}{', addressed' if command.at == 'question' else ''})"
        )
    if command.kind is not None:
        words += " from another process" if command.kind == ELSEWHERE else f"({command.kind})"
    if command.racers:
        racers = " | ".join(say(racer, names, asks) for racer in command.racers)
        words += f" of {command.unit} [{racers}]" + _say_turns(command.turns)
    if command.branch != "latest":
        words += f" @{command.branch}"
    if command.poison is not None:
        words += f", task {command.poison} returns an invalid update"
    if command.crash is not None:
        words += f", {'killed' if command.crash.by == 'kill' else 'exception'} at {_say_hook(command.crash)}"
    return words


def _say_turns(turns: tuple[Turn, ...]) -> str:
    """Such as `: 1 to effect.before:2, 2 to its end`; racers are counted from 1."""
    said = [f"{turn.racer + 1} to {_say_hook(turn) if turn.hook else 'its end'}" for turn in turns]
    return f": {', '.join(said)}" if said else ": one after the other"


def _say_hook(at: CrashPoint | Turn) -> str:
    return at.hook + (f" (passing {at.nth})" if at.nth > 1 else "")
