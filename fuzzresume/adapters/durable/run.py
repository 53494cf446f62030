"""What the log means: the branches of the present epoch, by folding the rows from the oldest to the newest.

A branch's status needs no row of its own. The engine ends every life with a park or with the last record; so a branch whose
newest row is something else, while work is left, was left by a life that died.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from fuzzresume.adapters.durable.log import Row, Stored
from fuzzresume.contract.workload import Question, Workload

Latest = Literal["fork", "trunk", "moved"]


class UnknownBranch(LookupError):
    """An address names a branch that the present epoch does not have."""


@dataclass
class Branch:
    """One branch of the present epoch.

    `done` are the recorded tasks in store order: the frontier. `journal` holds completed tasks whose record is not there
    yet. The first `base` of the `marks` were there when the epoch began. `answers` and `asked` are by question.
    `parked_at` is the question of a park that is the newest row, `invalid` the task of a refusal that is. `seq` is the
    newest row's place in the log.
    """

    name: str
    workload: Workload
    marks: list[str] = field(default_factory=list)
    base: int = 0
    done: list[int] = field(default_factory=list)
    journal: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[Question, str] = field(default_factory=dict)
    asked: set[Question] = field(default_factory=set)
    parked_at: Question | None = None
    invalid: int | None = None
    seq: int = 0

    @property
    def settled(self) -> tuple[int, ...]:
        """The tasks that never run again: the recorded ones and those that only the journal knows."""
        return tuple(t for t in self.workload.order if t in self.done or t in self.journal)

    @property
    def todo(self) -> tuple[int, ...]:
        """The tasks that are still to run, in order."""
        return tuple(t for t in self.workload.order if t not in self.done and t not in self.journal)

    @property
    def complete(self) -> bool:
        """No task is left."""
        return not self.todo

    @property
    def next_question(self) -> Question | None:
        """The question that stands between the run and its next effect, or None."""
        return next((q for q in self.workload.questions(self.todo[0]) if q not in self.answers), None) if self.todo else None

    @property
    def untouched(self) -> bool:
        """Nothing but the branch's beginning is durable."""
        return not (self.settled or self.answers or self.asked)

    def apply(self, row: Row) -> None:
        """Take one row of this branch into account."""
        body = row.body
        self.parked_at = self.invalid = None
        match row.kind:
            case "epoch" | "fork":
                self.marks = list(body["marks"])
                self.base = body["base"] if row.kind == "fork" else len(self.marks)
                self.done = list(body.get("done", ()))
                self.answers = {Question.parse(q): token for q, token in body["answers"].items()}
                self.asked = {*self.answers, *([Question.parse(body["at"])] if "at" in body else [])}
            case "answer":
                question = Question.parse(body["question"])
                self.answers[question] = body["token"]
                self.asked.add(question)
            case "park":
                self.parked_at = Question.parse(body["question"])
                self.asked.add(self.parked_at)
                # Whoever asks again wants to be answered again.
                for question in [q for q in self.answers if q.task == self.parked_at.task and q >= self.parked_at]:
                    del self.answers[question]
            case "journal":
                self.journal[body["task"]] = body
                self._count(body)
            case "record":
                if body["task"] not in self.journal:
                    self._count(body)
                self.journal.pop(body["task"], None)
                self.done.append(body["task"])
            case "refusal":
                self.invalid = body["task"]
            case "reversal":
                self.marks.reverse()

    def _count(self, body: dict[str, Any]) -> None:
        if body["mark"]:
            self.marks.append(body["mark"])


@dataclass
class Run:
    """Everything that the log says about the present epoch; `branches` stand in the order in which they were created."""

    workload: Workload
    latest_rule: Latest
    branches: dict[str, Branch] = field(default_factory=dict)
    created: int = 0
    moved: str = ""
    stray: str | None = None

    @classmethod
    def fold(cls, rows: Iterable[Stored], workload: Workload, latest_rule: Latest) -> Run:
        """The run that `rows` describe."""
        run = cls(workload, latest_rule)
        for stored in rows:
            run.apply(stored)
        return run

    @property
    def latest(self) -> Branch | None:
        """The branch that a command without an address means; None before the first start."""
        if not self.branches:
            return None
        names = list(self.branches)
        return self.branches[{"fork": names[-1], "trunk": names[0], "moved": self.moved}[self.latest_rule]]

    @property
    def next_name(self) -> str:
        """A name that no branch of any epoch has had, so that an address of an earlier epoch means nothing now."""
        return f"b{self.created}"

    def at(self, address: str | None) -> Branch | None:
        """The branch that a position (`b0`, `b0:7`) or a question's address (`b0/2.1`) lies on; the latest for None.

        Raises UnknownBranch for an address that is not of the present epoch.
        """
        if address is None:
            return self.latest
        name = branch_of(address)
        if name not in self.branches:
            raise UnknownBranch(f"there is no branch {name} in the present epoch")
        return self.branches[name]

    def apply(self, stored: Stored) -> None:
        """Take one row into account."""
        seq, row = stored
        if row.kind == "stray":
            self.stray = row.body["token"]
            return
        if row.kind == "epoch":
            self.branches = {}
        if row.kind in ("epoch", "fork"):
            self.branches[row.branch] = Branch(row.branch, self.workload)
            self.created += 1
        if row.kind == "answer" and row.body["token"] == self.stray:
            self.stray = None
        branch = self.branches[row.branch]
        branch.apply(row)
        branch.seq, self.moved = seq, row.branch


def branch_of(address: str) -> str:
    """The branch part of a position or of a question's address."""
    return address.partition("/")[0].partition(":")[0]


def address_of(branch: Branch, question: Question) -> str:
    """The opaque address of a question on a branch, such as `b0/2.1`."""
    return f"{branch.name}/{question.text}"


def head_of(branch: Branch) -> str:
    """The branch's position, such as `b0:7`; it changes with every row."""
    return f"{branch.name}:{branch.seq}"
