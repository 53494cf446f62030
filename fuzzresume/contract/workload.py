"""The program under test: tasks, questions, answer tokens (docs/CONTRACT.md, *Words*).

A workload is a set of tasks with dependencies, so a later topology (fan-out, nesting, loops) is more data, not another
type. Everything here is standard library only: workers in foreign environments import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple


class Question(NamedTuple):
    """One question of one gate: `index` counts from 1 within the task."""

    task: int
    index: int  # type: ignore[assignment]  # nobody searches in a pair, so tuple.index is not missed

    @property
    def text(self) -> str:
        """`"2.1"`: task 2, first question. The inverse of `parse`."""
        return f"{self.task}.{self.index}"

    @classmethod
    def parse(cls, text: str) -> Question:
        """Read `"2.1"`. Raises ValueError on anything else."""
        task, _, index = text.partition(".")
        return cls(int(task), int(index))


class Token(NamedTuple):
    """An answer token: unique per delivery, so that no two answers look alike (docs/CONTRACT.md, *answer token*).

    `delivery` counts the fresh tokens of one run from 1; `value` is what the user says.
    """

    question: Question
    delivery: int
    value: str = "yes"

    @property
    def text(self) -> str:
        """What travels on the framework's wire: `"2.1#3=yes"`. The inverse of `parse`."""
        return f"{self.question.text}#{self.delivery}={self.value}"

    @classmethod
    def parse(cls, text: str) -> Token:
        """Read what `text` wrote. Raises ValueError on anything else."""
        head, sep, value = text.partition("=")
        question, hash_, delivery = head.partition("#")
        if not sep or not hash_:
            raise ValueError(f"not an answer token: {text!r}")
        return cls(Question.parse(question), int(delivery), value)


class Mark(NamedTuple):
    """What task `task` adds to the run's state: itself and the tokens that its effect was computed from.

    State is accountable: the final marks alone show whether each task counted once, and with which answers. `tokens`
    holds wire texts, not `Token`s: a broken framework may hand a task anything.
    """

    task: int
    tokens: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`"2:2.1#1=yes,2.2#2=yes"`, or `"1"` for a task that asks nothing."""
        return f"{self.task}:{','.join(self.tokens)}" if self.tokens else str(self.task)

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Read what `text` wrote. Raises ValueError on anything else."""
        return _mark(text)


@lru_cache(maxsize=1024)
def _mark(text: str) -> Mark:
    task, _, tokens = text.partition(":")
    return Mark(int(task), tuple(tokens.split(",")) if tokens else ())


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work: one non-idempotent effect, one state update, `questions` asked before the effect may fire."""

    id: int
    questions: int = 0
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Workload:
    """A program as data. `tasks` stand in the order in which a linear run executes them."""

    tasks: tuple[Task, ...]
    topology: str = "linear"

    @classmethod
    def linear(cls, n: int = 3, gates: Mapping[int, int] | None = None) -> Workload:
        """Tasks 1..n in a chain; `gates` maps a task to the number of questions it asks.

        The default bounds are three tasks, the second asking two questions: the smallest workload that showed every
        planted fault (docs/CONTRACT.md, *Default bounds*). Raises ValueError for a gate outside 1..n.
        """
        asked = {2: 2} if gates is None else dict(gates)
        if n < 1 or any(t not in range(1, n + 1) or k < 0 for t, k in asked.items()):
            raise ValueError(f"a linear workload needs n >= 1 and gates within 1..n, got n={n}, gates={asked}")
        return cls(tuple(Task(t, asked.get(t, 0), (t - 1,) if t > 1 else ()) for t in range(1, n + 1)))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The task ids in execution order."""
        return tuple(task.id for task in self.tasks)

    @cached_property
    def gates(self) -> tuple[tuple[int, tuple[Question, ...]], ...]:
        """Each task with the questions that it asks, in execution order."""
        return tuple((task.id, self.questions(task.id)) for task in self.tasks)

    def task(self, task_id: int) -> Task:
        """The task with that id. Raises KeyError when there is none."""
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise KeyError(task_id)

    def questions(self, task_id: int | None = None) -> tuple[Question, ...]:
        """The questions of one task, or of the whole workload, in the order in which they are asked."""
        tasks = self.tasks if task_id is None else (self.task(task_id),)
        return tuple(Question(task.id, i) for task in tasks for i in range(1, task.questions + 1))
