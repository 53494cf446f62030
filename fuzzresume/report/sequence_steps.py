"""A trace as the steps of a sequence diagram: who tells whom what, in order. Pure; the writers only draw what is here.

A new process appears where the harness begins a new life: after a death, a reload or damage, for a `recover`, for each racer
and for an inspection from elsewhere. What the trace does not record is not drawn. So the effects of a race, whose order is
not compared, stand with the racer whose answer they carry, or with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fuzzresume.contract.commands import ELSEWHERE, Command, letters, say
from fuzzresume.contract.monitor import Seen
from fuzzresume.contract.state import Expect
from fuzzresume.contract.trace import Trace
from fuzzresume.contract.workload import Mark
from fuzzresume.report.plain_words import printable

StepKind = Literal["command", "reply", "refusal", "effect", "record", "read", "death", "note"]

USER, STORE, EFFECTS = "user", "store", "effects"


@dataclass(frozen=True, slots=True)
class Participant:
    """A column of the diagram. `key` is a word that every writer can use as a name."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Step:
    """One arrow from `source` to `target`. A `death` goes from a process to itself; a `note` spans what lies between."""

    kind: StepKind
    source: str
    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """The columns, left to right, and the steps. Those from index `marked` on are the violation (None: there is none)."""

    title: str
    participants: tuple[Participant, ...]
    steps: tuple[Step, ...]
    marked: int | None

    @property
    def sentences(self) -> list[str]:
        """The steps in words, for those who do not see the picture."""
        labels = {one.key: one.label for one in self.participants}
        said = []
        for index, step in enumerate(self.steps):
            who = labels[step.source]
            if step.kind != "note":
                who += " dies" if step.kind == "death" else f" to {labels[step.target]}"
            elif step.source != step.target:
                who += f" through {labels[step.target]}"
            said.append(f"{'Violation begins. ' if index == self.marked else ''}{who}: {step.text}.")
        return said


def diagram(trace: Trace) -> Diagram:
    """Lay out a trace, whether what was seen of its commands is recorded or not."""
    drawing = _Drawing(trace)
    last = len(trace.commands) - 1
    marked = None
    for index, command in enumerate(trace.commands):
        if index == last and trace.found is not None:
            marked = len(drawing.steps)
        drawing.command(command, trace.seen[index] if index < len(trace.seen) else None)
    if (found := trace.found) is not None:
        drawing.add("note", USER, EFFECTS, f"{found.verdict}: {found.property}, {found.cls}")
    title = f"{found.id} on {trace.target}" if found is not None else f"a run of {trace.target}"
    columns = (Participant(USER, "user"), *drawing.processes, Participant(STORE, "store"), Participant(EFFECTS, "effects"))
    return Diagram(_one_line(title), columns, tuple(drawing.steps), marked)


class _Drawing:
    """The steps so far, the process that lives, and the frontier that was seen last (None: it could not be read)."""

    def __init__(self, trace: Trace) -> None:
        self.workload = trace.workload
        self.tokens = letters(trace.commands)
        self.names = {token.text: name for token, name in self.tokens.items()}
        self.processes: list[Participant] = []
        self.steps: list[Step] = []
        self.alive: str | None = None
        self.frontier: frozenset[int] | None = frozenset()

    def add(self, kind: StepKind, source: str, target: str, text: str) -> None:
        self.steps.append(Step(kind, source, target, _one_line(text)))

    def command(self, command: Command, seen: Seen | None) -> None:
        """Everything that one command does."""
        words = self.words(command)
        expect = None if seen is None else seen.expect
        match command.op:
            case "race":
                self.race(command, words, seen)
            case "recover2":
                self.alive = None
                twin = None if expect is None else expect.twin
                self.send(f"{words}, on a copy of the store")
                self.outcome(command, twin, durable=False)
                self.alive = None
                self.send(f"{words}, on the store itself")
                self.outcome(command, expect)
            case "tamper":
                self.alive = None
                self.add("command", USER, STORE, words)
            case "reload":
                if self.alive is None:
                    self.add("note", USER, USER, f"{words}: no process lives")
                else:
                    self.add("command", USER, self.alive, f"{words}: all its objects are thrown away")
                self.alive = None
            case "inspect" if command.kind == ELSEWHERE:
                present, self.alive = self.alive, None
                self.send(words)
                self.outcome(command, expect)
                self.alive = present
            case _:
                if command.op == "recover":
                    self.alive = None
                self.send(words)
                self.outcome(command, expect)

    def words(self, command: Command) -> str:
        return say(command, self.tokens, lambda question: self.workload.task(question.task).questions)

    def begin(self, role: str = "") -> str:
        """A new process, or a new unit of the newest one."""
        number = len(self.processes) + 1
        self.processes.append(Participant(f"p{number}", role or self.numbered()))
        return f"p{number}"

    def numbered(self) -> str:
        """The name of the next process; threads and coroutines share one and have no number of their own."""
        return f"process {len({one.label.partition(',')[0] for one in self.processes}) + 1}"

    def send(self, words: str) -> None:
        """A command to the process that lives; a new one reads the store first."""
        fresh = self.alive is None
        alive = self.alive = self.alive or self.begin()
        self.add("command", USER, alive, words)
        if fresh and len(self.processes) > 1:
            self.add("read", STORE, alive, _say_frontier(self.frontier) or "what is durable")

    def outcome(self, command: Command, expect: Expect | None, *, durable: bool = True) -> None:
        """What a command showed; without that, the death that was planted. `durable`: in the run's own store."""
        alive = self.alive
        assert alive is not None
        point = command.crash
        died = point is not None if expect is None else expect.kind == "crashed"
        moved = False
        at = f" at {point.hook}" + (f", passing {point.nth}" if point.nth > 1 else "") if point is not None else ""
        if expect is None:
            self.frontier = None
        else:
            for mark in expect.effects:
                self.add("effect", alive, EFFECTS, f"effect {self.mark(mark)}")
            if expect.reentered:
                self.add("note", alive, alive, f"enters durable {_say_tasks(expect.reentered)} again")
            moved = durable and self.durable(alive, expect.frontier)
        if died and point is not None and point.by == "exception":
            self.add("refusal", alive, USER, f"exception{at}")
        elif died:
            self.add("death", alive, alive, f"SIGKILL{at}" if point is not None else "dies, and nobody planned it")
            self.alive = None
            if expect is not None and durable and not moved:
                self.add("note", STORE, STORE, f"still {_say_frontier(expect.frontier) or 'unread'}")
        elif expect is not None and expect.kind == "hung":
            self.add("death", alive, alive, "does not come back: hung")
            self.alive = None
        elif expect is not None:
            self.add("refusal" if expect.kind == "refused" else "reply", alive, USER, self.reply(expect))

    def durable(self, source: str, frontier: frozenset[int] | None) -> bool:
        """What became durable; returns whether the frontier shows something new."""
        moved = frontier is not None and frontier != self.frontier
        if moved:
            self.add("record", source, STORE, _say_frontier(frontier))
        self.frontier = frontier
        return moved

    def race(self, command: Command, words: str, seen: Seen | None) -> None:
        """Each racer in a column of its own; after it, all of them are gone."""
        self.alive = None
        shared = f"{self.numbered()}, {command.unit.removesuffix('s')}" if command.unit != "processes" else ""
        units = [
            self.begin(f"{shared} {i}" if shared else f"{self.numbered()}, racer {i}")
            for i in range(1, len(command.racers) + 1)
        ]
        self.add("note", units[0], units[-1], words)
        for unit, racer in zip(units, command.racers, strict=True):
            self.add("command", USER, unit, self.words(racer))
        if seen is None:
            return
        theirs = {
            racer.token.text: unit for unit, racer in zip(units, command.racers, strict=True) if racer.token is not None
        }
        nobodys = []
        for mark in seen.expect.effects:
            by = next((theirs[text] for text in mark.tokens if text in theirs), None)
            if by is not None:
                self.add("effect", by, EFFECTS, f"effect {self.mark(mark)}")
            else:
                nobodys.append(self.mark(mark))
        if nobodys:
            self.add("note", units[0], EFFECTS, f"by one racer or another: effects {', '.join(nobodys)}")
        for text, unit in theirs.items():
            if text in seen.shown:
                self.add("reply", unit, USER, f"told that {self.names[text]} was consumed")
        if seen.expect.frontier is not None:
            self.add("note", STORE, STORE, _say_frontier(seen.expect.frontier))
        self.frontier = seen.expect.frontier

    def mark(self, mark: Mark) -> str:
        """A task and the answers that it used, such as `2(a)`."""
        answers = ", ".join(self.names.get(text, text) for text in mark.tokens)
        return f"{mark.task}({answers})" if answers else str(mark.task)

    def reply(self, expect: Expect) -> str:
        """The outcome as the call returned it."""
        words = expect.kind
        if expect.pending:
            words += f" at {_some('question', [question.text for question in expect.pending])}"
        if expect.marks is not None:
            words += f", final state: {', '.join(map(self.mark, expect.marks)) or 'empty'}"
        return words


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _say_frontier(frontier: frozenset[int] | None) -> str:
    return "" if frontier is None else f"frontier {{{', '.join(map(str, sorted(frontier)))}}}"


def _say_tasks(tasks: Iterable[int]) -> str:
    return _some("task", [str(task) for task in sorted(tasks)])


def _some(noun: str, items: Sequence[str]) -> str:
    return f"{noun}{'s' if len(items) > 1 else ''} {', '.join(items)}"
