"""What an agent is to do, and what it makes of the messages it has heard and said. Plain and tool-calling agents share it.

AutoGen gives an agent only what is new since its last turn, and leaves it to the agent to remember the rest. These agents
remember everything and conclude from it alone, so all that they know is in the state that AutoGen saves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fuzzresume.adapters._autogen_store import ORDER, USER
from fuzzresume.contract.workload import Question

_QUESTION = re.compile(r"\d+\.\d+")
_MARK = re.compile(r"(\d+)(:.*)?")


class Line(NamedTuple):
    """One message: who said what, and to whom (None: to all)."""

    source: str
    text: str
    target: str | None = None


@dataclass
class Recollection:
    """What an agent concludes: the marks it can see, which of its own tasks are done, and the answers that it holds.

    An answer is what the user says next after the agent's own question. `done` and `answers` belong to one round of work.
    """

    marks: list[str] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    answers: dict[Question, str] = field(default_factory=dict)

    def unanswered(self, questions: Iterable[Question]) -> Question | None:
        """The first of `questions` that has no answer."""
        return next((question for question in questions if question not in self.answers), None)


@dataclass(frozen=True)
class Duty:
    """What the agent `name` is to do: `tasks`, in order, `then` hand off to another agent; `closes`: nobody follows.

    `solo`: it is the only agent of its team. Then it is called in any case and tells from its memory what is left to do, and
    an order means to begin anew. The agents of other teams leave it to the team who works: they work whenever they are
    called, and an order changes nothing for them until their own work is done; then it begins their next round.
    """

    name: str
    tasks: tuple[int, ...]
    then: str | None = None
    closes: bool = False
    solo: bool = False

    def next(self, done: set[int]) -> int | None:
        """The task to do in this turn; None when there is nothing left to do."""
        todo = [task for task in self.tasks if task not in done]
        return todo[0] if todo else None if self.solo else self.tasks[-1]

    def recall(self, lines: Iterable[Line]) -> Recollection:
        """What the agent concludes from `lines`."""
        known = Recollection()
        asked: Question | None = None
        for line in lines:
            if line.source == self.name and _QUESTION.fullmatch(line.text):
                asked = Question.parse(line.text)
            elif line.source != USER and (mark := _MARK.fullmatch(line.text)):
                known.marks.append(line.text)
                if line.source == self.name:
                    known.done.add(int(mark[1]))
            elif line.source == USER and line.text == ORDER:
                if self.solo or known.done.issuperset(self.tasks):
                    known.done, known.answers, asked = set(), {}, None
            elif line.source == USER and asked is not None and line.target in (None, self.name):
                known.answers[asked] = line.text
                asked = None
        return known
