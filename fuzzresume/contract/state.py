"""The reference's state and what it expects to see (docs/CONTRACT.md).

Plain named tuples: hashable, comparable, and close to the TLA+ records that say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeVar

from fuzzresume.contract.workload import Mark, Question, Token, Workload

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """A named tuple class whose `_replace` takes a fourth of the time: the relation spends most of its time there."""
    fields: tuple[str, ...] = cls.__dict__["_fields"]
    places, new = {name: place for place, name in enumerate(fields)}, tuple.__new__

    def _replace(self: tuple[Any, ...], /, **changes: Any) -> Any:
        items = list(self)
        for name, value in changes.items():
            items[places[name]] = value
        return new(cls, items)  # type: ignore[type-var]

    setattr(cls, "_replace", _replace)  # noqa: B010
    return cls


Status = Literal["new", "parked", "crashed", "completed", "lost", "stuck"]
Answers = tuple[tuple[Question, Token], ...]


@quick
class Branch(NamedTuple):
    """One branch of one epoch, as the reference believes it to be.

    `done` are the durable tasks, `hidden` those of them that the frontier does not show (a legal engine may know more
    than its frontier says about the one task in doubt). `marks` is the run's state, of which the first `base` marks were
    inherited by a restart. `answers` are durable; `acked` questions may never be asked again; `inflight` questions were
    delivered to but not acknowledged; `asked` ones were announced. `poisoned`: a schema refusal happened, liveness is no
    longer owed. `lost` and `stuck` exist under faults only.
    """

    status: Status = "new"
    done: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    marks: tuple[Mark, ...] = ()
    base: int = 0
    answers: Answers = ()
    acked: tuple[Question, ...] = ()
    inflight: tuple[Question, ...] = ()
    asked: tuple[Question, ...] = ()
    poisoned: bool = False

    @property
    def visible(self) -> tuple[int, ...]:
        """The frontier: what the dead store shows."""
        return tuple(t for t in self.done if t not in self.hidden) if self.hidden else self.done


@quick
class State(NamedTuple):
    """One possible world: the trunk, the newest fork, and what outlives a command.

    `tokens` are all tokens delivered in this epoch (faults may serve any of them). `stray` is a delivery that
    StrayPoisons left behind. `latest` is the branch that a command without an address means; with `moves` that is the
    branch written last.
    """

    trunk: Branch = Branch()
    fork: Branch | None = None
    latest: Literal["trunk", "fork"] = "trunk"
    moves: bool = False
    tokens: tuple[Token, ...] = ()
    stray: Token | None = None
    tampered: str | None = None
    over: bool = False

    def branch(self, name: str) -> Branch:
        """The branch that a command addressed to `latest` or `trunk` means."""
        return self.fork if name == "latest" and self.latest == "fork" and self.fork is not None else self.trunk

    def with_branch(self, name: str, branch: Branch) -> State:
        """This state with that branch replaced."""
        if name == "latest" and self.latest == "fork" and self.fork is not None:
            return tuple.__new__(State, (self.trunk, branch, *self[2:]))
        return tuple.__new__(State, (branch, *self[1:]))


@quick
class Expect(NamedTuple):
    """What one command may show. None in `pending`, `marks`, `reentered` or `frontier` means: not compared.

    `effects` are compared as a sequence, `frontier` and `reentered` as sets. `twin` is what the second recovery of
    `recover2` may show.
    """

    kind: str
    effects: tuple[Mark, ...] = ()
    pending: tuple[Question, ...] | None = None
    marks: tuple[Mark, ...] | None = None
    reentered: frozenset[int] | None = frozenset()
    frontier: frozenset[int] | None = None
    twin: Expect | None = None
    fresh: str | None = None
    """Wire text of a must-be-inert token: a reply whose state shows it was told consumed, although it must not be."""
    told: frozenset[str] | None = None
    """Wire texts of the answers of a race of which more than one may be told consumed; None: not compared."""


class Note(NamedTuple):
    """A legal choice that a transition made: reported as the target's policy, and constant where `binding`."""

    choice: str
    value: str
    binding: bool = False


@quick
class Transition(NamedTuple):
    """One element of the reference's next-state relation."""

    expect: Expect
    state: State
    note: Note | None = None


def distinct(found: Iterable[T]) -> tuple[T, ...]:
    """Each transition, or world, once, in order. A few are compared faster than they are hashed."""
    found = list(found)
    if len(found) > 12:
        return tuple(dict.fromkeys(found))
    return tuple([one for at, one in enumerate(found) if found.index(one) == at])


def answer_of(answers: Answers, question: Question) -> Token | None:
    """The answer held for a question, or None."""
    for q, token in answers:
        if q == question:
            return token
    return None


def with_answer(answers: Answers, question: Question, token: Token) -> Answers:
    """`answers` with that question's answer set, in question order."""
    return tuple(sorted([*[pair for pair in answers if pair[0] != question], (question, token)]))


def without_answer(answers: Answers, question: Question) -> Answers:
    """`answers` without that question's."""
    return tuple(pair for pair in answers if pair[0] != question)


def add(items: tuple[Any, ...], *more: object) -> tuple[Any, ...]:
    """A sorted tuple with `more` added, without duplicates."""
    if not more:
        return items
    found = {*items, *more}
    return items if len(found) == len(items) else tuple(sorted(found))


def next_question(workload: Workload, branch: Branch) -> Question | None:
    """The question that the branch asks next without running a task first, or None."""
    for task, questions in workload.gates:
        if task not in branch.done:
            if questions:
                held = [question for question, _ in branch.answers]
                for question in questions:
                    if question not in held:
                        return question
            return None
    return None


def complete(workload: Workload, branch: Branch) -> bool:
    """Every task is durable."""
    return len(branch.done) == len(workload.tasks)
