"""Which commands make sense next: the steering of every generator (docs/CONTRACT.md, *Commands*).

The reference is total, so this module never decides what is legal. It keeps generators, the minimiser and the coverage
count within one vocabulary: a `Label` is a command without its drawn values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fuzzresume.contract.commands import Command, CrashPoint, Op
from fuzzresume.contract.state import Branch, State, complete, next_question
from fuzzresume.contract.workload import Question, Token, Workload

SPECIALS: frozenset[str] = frozenset(
    {"fork", "stray", "redeliver", "settled", "restart", "poison", "inspect", "reload", "tamper", "twin", "trunk", "race"}
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be sent to a target, and how much of it per run.

    The flags are capabilities; `crashes` and `specials` are the most of each in one run (docs/CONTRACT.md, *Default
    bounds*: one of each covers the reference).
    """

    fork: bool = True
    trunk: bool = True
    addressed: bool = True
    schema: bool = True
    retry: bool = True
    twin: bool = True
    tamper: tuple[str, ...] = ()
    crashes: int = 1
    specials: int = 1


class Spent(NamedTuple):
    """What a run has used up: crashes, specials in order, fresh tokens; `failed` says the last outcome was `failed`."""

    crashes: int = 0
    specials: tuple[str, ...] = ()
    tokens: int = 0
    failed: bool = False


class Label(NamedTuple):
    """A command without drawn values: what coverage counts and what tours are made of.

    Crash points, kinds of death and kinds of damage are drawn values, as answers are.
    """

    op: Op
    question: Question | None = None
    at: str = "latest"
    branch: str = "latest"
    crash: bool = False
    poison: int | None = None
    fresh: bool = True
    racers: tuple[Label, ...] = ()

    @property
    def text(self) -> str:
        """The label in words, such as `resume 2.1 addressed crash`."""
        words: list[str] = [self.op]
        if self.question is not None:
            words.append(self.question.text)
        words += [f"[{' | '.join(racer.text for racer in self.racers)}]"] if self.racers else []
        words += [w for w, on in (("addressed", self.at == "question"), (f"@{self.branch}", self.branch != "latest")) if on]
        words += [w for w, on in (("crash", self.crash), (f"poison {self.poison}", self.poison is not None)) if on]
        return " ".join(words)


def label(command: Command) -> Label:
    """The label of a command."""
    return Label(
        command.op,
        command.question,
        command.at,
        command.branch,
        command.crash is not None,
        command.poison,
        command.op != "redeliver",
        tuple(map(label, command.racers)),
    )


def special(state: State, command: Label) -> str | None:
    """The special that a command spends, or None."""
    if command.poison is not None:
        return "poison"
    if command.op == "recover2":
        return "twin"
    if command.op == "resume" and command.question in state.branch(command.branch).acked:
        return "settled"
    return command.op if command.op in SPECIALS else None


def spend(state: State, spent: Spent, command: Command, outcome: str) -> Spent:
    """`spent` after a command that ended as `outcome`."""
    used = special(state, label(command))
    fresh = sum(sent.token is not None and sent.op != "redeliver" for sent in command.sent)
    return Spent(
        spent.crashes + (command.crash is not None),
        (*spent.specials, used) if used else spent.specials,
        spent.tokens + fresh,
        outcome == "failed",
    )


def menu(workload: Workload, state: State, spent: Spent, scope: Scope) -> tuple[Label, ...]:
    """The labels of every command worth sending in this state within the scope, in a stable order."""
    if state.over:
        return ()
    if state.tampered is not None:
        return (Label("recover"),)
    room = len(spent.specials) < scope.specials
    found: list[Label] = []
    for name in ("latest", "trunk") if state.fork is not None and scope.trunk else ("latest",):
        for plain in _plain(workload, state.branch(name), spent, scope):
            if name == "trunk" and plain.op in ("start", "restart", "fork", "tamper", "retry", "reload"):
                continue
            base = plain._replace(branch=name)
            if special(state, base) is not None and not room:
                continue
            if base.at == "question" and state.fork is not None:
                continue  # an address names its own branch, whatever "latest" means
            found += _modified(workload, state, base, spent, scope, room)
    if room and scope.fork:
        for question in state.trunk.asked:
            found += _modified(workload, state, Label("fork", question), spent, scope, room)
    return tuple(dict.fromkeys(found))  # under AnswerLost a question can be acknowledged and open


def _plain(workload: Workload, branch: Branch, spent: Spent, scope: Scope) -> Iterator[Label]:
    pending = next_question(workload, branch)
    done = complete(workload, branch)
    if branch.status == "new":
        yield Label("start")
        yield from (Label("stray", q) for q in workload.questions()[:1])
        yield Label("inspect")
        return
    if branch.status == "crashed" and not branch.done and not branch.inflight:
        yield Label("start")
    if branch.status == "parked" and pending is not None:
        yield from _addressed(Label("resume", pending), scope, pending in branch.asked)
    if branch.status == "crashed":
        yield from (Label("resume", q) for q in branch.inflight)
        if pending is not None and pending not in branch.inflight and pending in branch.asked:
            yield Label("resume", pending)
        if spent.failed and scope.retry:
            yield Label("retry")
    yield Label("recover")
    if scope.twin and branch.status == "crashed" and branch.done:
        yield Label("recover2")
    for question in branch.acked:
        yield from _addressed(Label("redeliver", question, fresh=False), scope, True)
        if pending is not None:
            yield from _addressed(Label("resume", question), scope, True)
    if branch.status == "crashed":
        yield from (Label("redeliver", q, fresh=False) for q in branch.inflight)
    if done or branch.status == "crashed":
        yield from (Label("stray", q) for q in workload.questions()[-1:] if q.task in branch.done)
    yield Label("restart")
    yield Label("inspect")
    yield Label("reload")
    if branch.done or branch.asked:
        yield from (Label("tamper") for _ in scope.tamper[:1])


def _addressed(plain: Label, scope: Scope, announced: bool) -> Iterator[Label]:
    yield plain
    if scope.addressed and announced:
        yield plain._replace(at="question")


RUNS: frozenset[str] = frozenset({"start", "resume", "fork", "recover", "retry", "restart"})
"""Commands that run tasks when all is well: the ones worth crashing and poisoning."""


def _modified(workload: Workload, state: State, plain: Label, spent: Spent, scope: Scope, room: bool) -> Iterator[Label]:
    yield plain
    if plain.op not in RUNS or special(state, plain) == "settled":
        return
    if spent.crashes < scope.crashes:
        yield plain._replace(crash=True)
    if room and scope.schema and special(state, plain) is None:
        for task in _ahead(workload, state.branch(plain.branch), plain):
            yield plain._replace(poison=task)


def _ahead(workload: Workload, branch: Branch, plain: Label) -> Iterator[int]:
    """The tasks that a command will run before it parks again."""
    for task in workload.order:
        if task in branch.done:
            continue
        asks = [q for q in workload.questions(task) if q not in branch.acked and q != plain.question]
        if asks:
            return
        yield task


def command(chosen: Label, token: Token | None, crash: CrashPoint | None, kind: str | None = None) -> Command:
    """The command for a label, with the drawn values filled in."""
    return Command(
        chosen.op,
        token,
        "question" if chosen.at == "question" else "latest",
        "trunk" if chosen.branch == "trunk" else "latest",
        crash,
        chosen.poison,
        kind,
    )


def token_for(state: State, spent: Spent, chosen: Label) -> Token | None:
    """The token that a label's command carries in a search of the reference: the next unused one, or, when it is delivered
    again, the newest that was sent to the question. None for a command without a token."""
    if chosen.question is None:
        return None
    if chosen.fresh:
        return Token(chosen.question, spent.tokens + 1)
    return max((t for t in state.tokens if t.question == chosen.question), default=Token(chosen.question, 1))


Abstract = tuple[object, ...]
"""A state without tokens and without what no observation shows."""


def abstract(state: State) -> Abstract:
    """What coverage counts as one state."""

    def seen(branch: Branch | None) -> Abstract | None:
        if branch is None:
            return None
        return (branch.status, branch.visible, branch.acked, branch.inflight, branch.asked, branch.base > 0, branch.poisoned)

    return (seen(state.trunk), seen(state.fork), state.latest, state.tampered is not None, state.over)
