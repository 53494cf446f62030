"""The reference's Python values as the values of `tla/`: the one place that knows how both sides write a state.

Tokens become <<task, index, n>>: their wire texts are numbered, so that a text which is nobody's token has a number too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from fuzzresume.contract.commands import Command
from fuzzresume.contract.monitor import Seen
from fuzzresume.contract.state import Branch, Expect, Note, State
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.formal.values import Record, Value

NO_TOKEN = (0, 0, 0)


def option(value: Value | None) -> frozenset[Value]:
    """What may be absent: a set of at most one."""
    return frozenset() if value is None else frozenset({value})


def shape(workload: Workload) -> Value:
    """How many questions each task asks."""
    return tuple(task.questions for task in workload.tasks)


class Tokens:
    """The numbering of wire texts. `numbered` keeps each token's own delivery number, as graphs do.

    Without it, texts are numbered in order of first use, so that equal traces are equal whatever their tokens say.
    """

    def __init__(self, *, numbered: bool = False) -> None:
        self._numbers: dict[str, int] = {}
        self._next = count(1)
        self._numbered = numbered

    def token(self, token: Token | None) -> Value:
        """A token, or NoToken."""
        return NO_TOKEN if token is None else self.text(token.text)

    def text(self, text: str) -> Value:
        """A wire text. What does not read as a token gets no question: it is no token of any."""
        try:
            token = Token.parse(text)
        except ValueError:
            return (0, 0, self._number(text))
        return (*token.question, token.delivery if self._numbered else self._number(text))

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = next(self._next)
        return self._numbers[text]

    def mark(self, mark: Mark) -> Value:
        """What a task added, or the effect it fired."""
        return (mark.task, tuple(map(self.text, mark.tokens)))

    def marks(self, marks: Iterable[Mark]) -> Value:
        """A sequence of marks."""
        return tuple(map(self.mark, marks))


def question(asked: Question) -> Value:
    """A question, as a plain pair."""
    return tuple(asked)


def questions(asked: Iterable[Question]) -> Value:
    """A set of questions."""
    return frozenset(map(question, asked))


def branch(value: Branch | None, tokens: Tokens) -> Value:
    """A branch; no branch has the status `none`."""
    given = value if value is not None else Branch()
    return Record(
        status=given.status if value is not None else "none",
        done=frozenset(given.done),
        hidden=frozenset(given.hidden),
        marks=tokens.marks(given.marks),
        base=given.base,
        answers=frozenset((question(q), tokens.token(t)) for q, t in given.answers),
        acked=questions(given.acked),
        inflight=questions(given.inflight),
        asked=questions(given.asked),
        poisoned=given.poisoned,
    )


def state(value: State, tokens: Tokens) -> Value:
    """One possible state."""
    return Record(
        trunk=branch(value.trunk, tokens),
        fork=branch(value.fork, tokens),
        latest=value.latest,
        moves=value.moves,
        tokens=frozenset(map(tokens.token, value.tokens)),
        stray=tokens.token(value.stray),
        tampered=value.tampered or "",
        over=value.over,
    )


def command(value: Command, tokens: Tokens) -> Value:
    """A command, without what the reference does not ask about: the address, and where the crash is planted."""
    return Record(
        op=value.op,
        token=tokens.token(value.token),
        branch=value.branch,
        crash=value.crash is not None,
        poison=value.poison or 0,
        kind=(value.kind if value.op == "tamper" else None) or "",
    )


def expect(value: Expect, tokens: Tokens) -> Value:
    """What a command may show."""
    return Record(_shown(value, tokens), fresh=NO_TOKEN if value.fresh is None else tokens.text(value.fresh))


def seen(value: Seen, tokens: Tokens) -> Value:
    """What was seen of a command."""
    return Record(_shown(value.expect, tokens), shown=frozenset(map(tokens.text, value.shown)))


def _shown(value: Expect, tokens: Tokens) -> Record:
    return Record(
        kind=value.kind,
        effects=tokens.marks(value.effects),
        pending=option(None if value.pending is None else tuple(map(question, value.pending))),
        marks=option(None if value.marks is None else tokens.marks(value.marks)),
        reentered=option(value.reentered),
        frontier=option(value.frontier),
        twin=option(None if value.twin is None else expect(value.twin, tokens)),
    )


def note(value: Note | None) -> Value:
    """A legal choice, or none."""
    given = value or Note("", "")
    return Record(choice=given.choice, value=given.value, binding=given.binding)
