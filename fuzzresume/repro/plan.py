"""What a script has to do and to see: a trace cut into processes, with what was seen and what would have been legal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzzresume.contract.commands import ELSEWHERE, Command, letters
from fuzzresume.contract.monitor import FIRST, Seen, advance, replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.rejudge import recorded_sights, violates
from fuzzresume.contract.state import Expect
from fuzzresume.contract.trace import Found, Trace
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Mark, Token
from fuzzresume.harness.target import VERSION

Shown = dict[str, Any]
"""What a command shows, as a script compares it: `outcome`, `effects`, and where they count `asks`, `state`, `recorded` (the
tasks that the store records) and `shows` (the answers in the state shown; of what is legal, all that may be there); of what
is legal also `hides`, an answer that must not be in the state shown."""

FRESH_PROCESS = frozenset({"recover", "race", "tamper"})
"""Commands that no earlier process makes: it has ended before them."""

PLAIN = re.compile(r"[\w.:+-]+", re.ASCII)
"""What an option, its value and a hook look like: they end up in the code of a script."""

PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What the name of a package looks like: it ends up in what a script asks an installer for."""


class NoScript(Exception):
    """No script can be written for a trace; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the script. `number` counts from 1, `process` is the one that makes it, also from 1."""

    number: int
    words: str
    command: Command
    process: int


class Plan:
    """A trace as a script replays it. Raises NoScript where a script could not tell.

    A script sees less than the harness: it does not know which tasks were entered again, and it reads what the store
    records only where the violation rests on that (`reads_store`).
    """

    def __init__(self, trace: Trace) -> None:
        if trace.found is None or not trace.seen:
            raise NoScript("the trace does not say what was found and seen; replay it with --record first")
        _require_plain(trace)
        self.trace = trace
        self.found: Found = trace.found
        self.names: Mapping[str, str] = {token.text: name for token, name in letters(trace.commands).items()}
        for command in trace.commands:
            _require_expressible(command)
        self.reads_store = not violates(trace, _without_store)
        if self.reads_store and not violates(trace, _with_store):
            raise NoScript("only the entering of a task shows the violation, and no script sees that")

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The commands, each with its process."""
        process, fresh, steps = 0, True, []
        words = say_commands(self.trace.workload, self.trace.commands)
        for number, (command, seen, said) in enumerate(zip(self.trace.commands, self.trace.seen, words, strict=True), 1):
            process += fresh or command.op in FRESH_PROCESS
            steps.append(Step(number, said, command, process))
            killed = command.crash is not None and command.crash.by == "kill" and seen.expect.kind == "crashed"
            fresh = killed or command.op in ("race", "tamper", "reload")
        return tuple(steps)

    @property
    def processes(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each process; a reload takes none, it is the border between two."""
        made = [step for step in self.steps if step.command.op != "reload"]
        numbers = dict.fromkeys(step.process for step in made)
        return tuple(tuple(step for step in made if step.process == number) for number in numbers)

    @property
    def recorded(self) -> dict[int, Shown]:
        """What was seen of each command, by number."""
        found = {
            step.number: self._shown(seen.expect, seen.shown)
            for step, seen in zip(self.steps, self.trace.seen, strict=True)
            if step.command.op != "reload"
        }
        if any("hides" in legal for legal in self.legal):
            found[len(self.steps)]["shows"] = self._answers(self.trace.seen[-1].shown)
        return found

    @cached_property
    def legal(self) -> tuple[Shown, ...]:
        """What the contract admits at the last command, after what was seen before it."""
        sights = recorded_sights(self.trace, _with_store if self.reads_store else _without_store)
        reference, profile = Reference(self.trace.workload), frozenset(self.found.beyond)
        worlds = replay(reference, sights[:-1], profile, FIRST)
        admitted = advance(reference, worlds, sights[-1][0], None, profile)
        shown = [self._expected(transition.expect) for _, transition in admitted]
        return tuple(one for index, one in enumerate(shown) if one not in shown[:index])

    @cached_property
    def points(self) -> frozenset[str]:
        """The points at which a command dies or a racer waits: no other needs a `reach`."""
        died = {sent.crash.hook for step in self.steps for sent in step.command.sent if sent.crash is not None}
        return frozenset(died | {turn.hook for step in self.steps for turn in step.command.turns if turn.hook})

    def begins(self, step: Step) -> bool:
        """Whether a command is the first one of its process; each racer's is."""
        return all(other.number >= step.number for other in self.steps if other.process == step.process)

    def answer(self, token: Token | None) -> str:
        """The short name of an answer, which is what a script delivers."""
        return "" if token is None else self.names[token.text]

    def _shown(self, expect: Expect, shows: Iterable[str] = ()) -> Shown:
        shown: Shown = {"outcome": expect.kind, "effects": [self._mark(mark) for mark in expect.effects]}
        if expect.pending is not None:
            shown["asks"] = [question.text for question in expect.pending]
        if expect.marks is not None:
            shown["state"] = [self._mark(mark) for mark in expect.marks]
        if expect.kind == "raced":
            shown["shows"] = self._answers(shows)
        if self.reads_store and expect.frontier is not None:
            shown["recorded"] = sorted(expect.frontier)
        return shown

    def _expected(self, expect: Expect) -> Shown:
        shown = self._shown(expect)
        shown.pop("shows", None)
        if expect.fresh is not None:
            shown["hides"] = self.names.get(expect.fresh, expect.fresh)
        if expect.told is not None:
            shown["shows"] = self._answers(expect.told)
        return shown

    def _answers(self, tokens: Iterable[str]) -> list[str]:
        return sorted(self.names.get(token, token) for token in tokens)

    def _mark(self, mark: Mark) -> str:
        return Mark(mark.task, tuple(self.names.get(token, token) for token in mark.tokens)).text


def _with_store(seen: Seen) -> Seen:
    """What a script that reads the store sees."""
    return seen._replace(expect=seen.expect._replace(reentered=None))


def _without_store(seen: Seen) -> Seen:
    """What any other script sees."""
    return seen._replace(expect=seen.expect._replace(reentered=None, frontier=None))


def _require_plain(trace: Trace) -> None:
    """A trace can come from anybody, and a script is code: nothing gets into it that could be more than a word."""
    for name, version in trace.packages.items():
        if not PACKAGE.fullmatch(name) or not VERSION.fullmatch(version):
            raise NoScript(f"packages: {name!r} {version!r} is no package and its version")
    for text in (*trace.options, *trace.options.values()):
        if not PLAIN.fullmatch(text):
            raise NoScript(f"options: {text!r} is no plain word")
    crashes = [one.crash.hook for command in trace.commands for one in (command, *command.racers) if one.crash is not None]
    turns = [turn.hook for command in trace.commands for turn in command.turns if turn.hook]
    for hook in (*crashes, *turns):
        if not PLAIN.fullmatch(hook):
            raise NoScript(f"commands: {hook!r} is no hook")


def _require_expressible(command: Command) -> None:
    if command.op == "recover2":
        raise NoScript("two recoveries of one store under different schedules need fuzzresume's own control of schedules")
    if command.op == "inspect" and command.kind == ELSEWHERE:
        raise NoScript("an inspection from another process, in the middle of a process, is not written yet")
    if command.op == "race" and command.unit != "processes":
        raise NoScript(f"racing {command.unit} of one process need fuzzresume's own control of schedules")
