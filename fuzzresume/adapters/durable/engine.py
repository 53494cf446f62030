"""One life of a run: the commands of docs/CONTRACT.md on the log.

Every command reads the log anew, decides from it alone, and commits before it goes on: the answer before its task runs,
the record before the next task is entered, the park before the question is announced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn

from fuzzresume.adapters.durable.conduct import Conduct, Going, Step, answer_row
from fuzzresume.adapters.durable.log import Log, Row, Stored
from fuzzresume.adapters.durable.policy import Policy
from fuzzresume.adapters.durable.run import Branch, Run, address_of
from fuzzresume.contract.observation import Asked, Outcome, OutcomeKind
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Update

INPUT = "go"
"""What a run is started with."""


class Refused(Exception):
    """The engine does not serve this call; nothing was changed."""


class InvalidUpdate(Exception):
    """A task's update breaks the declared schema; the task is not recorded."""


class Engine:
    """A life: `policy` makes its legal choices, `conduct` is where a planted fault sits."""

    def __init__(self, env: Env, policy: Policy, conduct: Conduct) -> None:
        self.env = env
        self._policy = policy
        self._conduct = conduct
        self._log = Log(env.folder, verify=conduct.verifies, unknown_fields=policy.extra_field == "ignore")
        self._undurable: dict[tuple[str, Question], str] = {}
        self._late: list[Row] = []
        self._asked: set[tuple[str, Question]] = set()
        self._recovered = False

    def start(self) -> Outcome:
        """Send the input; legal again while nothing is durable."""
        run = self._read()
        if run.latest is None:
            return self._begin(run)
        if run.latest.untouched:
            return self.go_on(run, run.latest)
        return self._again(run, run.latest)

    def restart(self) -> Outcome:
        """Send the input again."""
        run = self._read()
        return self._begin(run) if run.latest is None else self._again(run, run.latest)

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Deliver an answer; the store decides whether its question takes one."""
        run = self._read()
        target = run.at(address or branch)
        if address is not None and target is not None and address != address_of(target, question):
            raise Refused(f"{address} is not the address of question {question.text}")
        standing = "settled" if target is None else self._standing(target, question)
        if target is None or standing == "settled":
            return self._settled(run, target, question, answer)
        self._admit_poisoned(target)
        if standing == "in doubt":
            return self._in_doubt(run, target, question, answer)
        if self._lost(target):
            raise Refused("the run is not parked")
        return self.serve(run, target, question, answer)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Answer a question anew on a new branch, whose past ends just before the question's task."""
        run = self._read()
        trunk = run.at(address)
        if self._policy.fork == "refuse" or trunk is None:
            raise Refused("there is nothing to fork")
        if address != address_of(trunk, question) or not self._was_asked(trunk, question):
            raise Refused(f"question {question.text} was not asked at {address}")
        order = self.env.workload.order
        before = order[: order.index(question.task)]
        begins = {
            "parent": trunk.name,
            "at": question.text,
            "done": list(before),
            "marks": trunk.marks_before(before),
            "answers": {q.text: token for q, token in trunk.answers.items() if q < question},
        }
        name = run.next_name
        self.commit(run, [Row("fork", name, begins), *self._conduct.leak(trunk, question, answer)])
        return self.serve(run, run.branches[name], question, self._conduct.fork_answer(trunk, question, answer))

    def recover(self, *, branch: str | None) -> Outcome:
        """Go on from the store, with no new information."""
        run = self._read()
        target = run.at(branch)
        if target is None or target.untouched:
            if self._policy.empty_recover == "refuse":
                raise Refused("nothing is durable; start the run")
        elif target.complete and not target.journal:
            if self._policy.recover_completed == "refuse":
                raise Refused("the run is complete")
            return self._present(target)
        if target is None:
            return self._begin(run)
        if self._lost(target):
            return self._reply("idle", target)
        if self._parked(target) is not None and self._policy.recover_parked == "refuse":
            raise Refused("the run is parked; answer its question")
        return self._continue(run, target)

    def inspect(self, *, branch: str | None) -> Outcome:
        """Read the branch."""
        run = self._read()
        target = run.at(branch)
        if target is None:
            return Outcome("inert", marks=())
        marks = tuple(Mark.parse(text) for text in target.marks)
        self._conduct.inspected(self, run, target)
        return Outcome("inert", marks=marks)

    def close(self) -> None:
        """Release the store."""
        self._log.close()

    # What the commands are made of; a planted fault may call these too.

    def serve(self, run: Run, branch: Branch, question: Question, answer: str) -> Outcome:
        """Take an answer and go on."""
        if self._policy.answer == "first" and not self._conduct.keeps_answers_in_memory:
            self.commit(run, [answer_row(branch, question, answer)])
        else:
            self._undurable[branch.name, question] = answer
            branch.answers[question] = answer
        return self.go_on(run, branch)

    def go_on(
        self, run: Run, branch: Branch, *, recovering: bool = False, plan: Sequence[Step] | None = None
    ) -> Outcome:
        """Run what is left until a question or the end."""
        gates = frozenset(task.id for task in self.env.workload.tasks if task.questions)
        crashed = self._parked(branch) is None
        going = Going(branch.todo, branch.settled, gates, recovering, crashed, self.env.seed)
        if recovering and branch.todo:
            self._conduct.admit(going)
        if plan is None:
            plan = self._conduct.plan(going) if branch.todo else ()
        self.commit(run, [Row("record", branch.name, body) for body in branch.journal.values()])
        for step in plan:
            asked = self._step(run, branch, step)
            if asked is not None:
                return asked
        self.commit(run, [])
        return self._reply("completed", branch, self._conduct.shown(branch.marks, self._recovered))

    def commit(self, run: Run, rows: Sequence[Row]) -> None:
        """Make `rows`, and records that waited, durable in one transaction."""
        waiting, self._late = self._late, []
        if not waiting and not rows:
            return
        self.env.hook("commit.before")
        stored = self._log.append([*waiting, *rows])
        for row in stored[len(waiting) :]:
            run.apply(row)
        self.env.hook("commit.after")

    def _read(self) -> Run:
        self._late.clear()
        if not self._conduct.keeps_answers_in_memory:
            self._undurable.clear()
        run = Run.fold(self._log.read(), self.env.workload, self._policy.latest)
        for (name, question), answer in self._undurable.items():
            if name in run.branches:
                run.branches[name].answers[question] = answer
        return run

    def _begin(self, run: Run, before: Branch | None = None) -> Outcome:
        marks = before.marks if before is not None and self._policy.restart == "new-accumulated" else []
        answers = self._conduct.inherited(before) if before is not None else {}
        begins = {"input": INPUT, "marks": marks, "answers": {q.text: token for q, token in answers.items()}}
        name = run.next_name
        self.commit(run, [Row("epoch", name, begins)])
        return self.go_on(run, run.branches[name])

    def _again(self, run: Run, branch: Branch) -> Outcome:
        match self._policy.restart:
            case "refuse":
                raise Refused("the run was started before")
            case "continue" if not branch.complete and self._parked(branch) is None:
                return self._continue(run, branch)
            case "continue" | "inert":
                return self._present(branch)
        return self._begin(run, branch)

    def _continue(self, run: Run, branch: Branch) -> Outcome:
        self._admit_poisoned(branch)
        self._recovered = self._recovered or self._parked(branch) is None
        return self.go_on(run, branch, recovering=True)

    def _step(self, run: Run, branch: Branch, step: Step) -> Outcome | None:
        task = step.task
        if step.skip:
            self.commit(run, [Row("record", branch.name, {"task": task, "mark": "", "note": ""})])
            return None
        question = branch.open_question(task)
        while question is not None and (kept := self._conduct.unasked_answer(run)) is not None:
            self.commit(run, [answer_row(branch, question, kept)])
            question = branch.open_question(task)
        if question is None or self._policy.reenter == "yes" or (question.index == 1 and question not in branch.asked):
            self.env.enter(task)
        if question is not None:
            return self._ask(run, branch, question)
        if not step.silent:
            tokens = [branch.answers[q] for q in self.env.workload.questions(task)]
            update = self.env.body(task, tokens, branch.marks)
            if not step.again:
                self._record(run, branch, task, update)
        return None

    def _ask(self, run: Run, branch: Branch, question: Question) -> Outcome:
        rows = [] if self._conduct.keeps_answers_in_memory else self._taken(branch)
        if self._policy.park == "durable" and branch.parked_at != question:
            rows.append(Row("park", branch.name, {"question": question.text}))
        self.commit(run, rows)
        self._asked.add((branch.name, question))
        return self._parked_reply(branch, question)

    def _record(self, run: Run, branch: Branch, task: int, update: Update) -> None:
        if not self._conduct.accepts(update):
            self.commit(run, [Row("refusal", branch.name, {"task": task})])
            raise InvalidUpdate(f"task {task}: note must be a string, got {update.note!r}")
        record = Row("record", branch.name, {"task": task, "mark": update.mark, "note": update.note})
        if self._policy.record == "journal":
            self.commit(run, [*self._taken(branch, task), record._replace(kind="journal")])
            self.commit(run, [record])
        elif self._conduct.records_late:
            self._late.append(record)
            run.apply(Stored(branch.seq, record))
        else:
            self.commit(run, [*self._taken(branch, task), record])

    def _taken(self, branch: Branch, task: int | None = None) -> list[Row]:
        """The answers that are not durable yet, as rows; from here on they count as durable."""
        keys = [key for key in self._undurable if key[0] == branch.name and task in (None, key[1].task)]
        return [answer_row(branch, key[1], self._undurable.pop(key)) for key in keys]

    def _standing(self, branch: Branch, question: Question) -> Literal["pending", "in doubt", "settled"]:
        """Whether a question takes an answer: it is open, or it has one that nobody acknowledged, or neither."""
        if question.task in branch.journal:
            return "in doubt"
        parked = self._parked(branch)
        if question == (parked or branch.next_question):
            return "pending" if parked or question in branch.asked else "settled"
        held = question in branch.answers and question.task in branch.todo
        if parked is None and held and not any(later > question for later in branch.asked):
            return "in doubt"
        return "settled"

    def _in_doubt(self, run: Run, branch: Branch, question: Question, answer: str) -> Outcome:
        if branch.answers[question] == answer:
            match self._policy.redeliver_crashed:
                case "inert":
                    return self._present(branch)
                case "refuse":
                    self._refuse_settled(question)
        elif self._policy.doubt == "refuse":
            raise Refused(f"question {question.text} has an answer already; recover the run")
        elif self._policy.doubt == "new" and question.task not in branch.journal:
            return self.serve(run, branch, question, answer)
        return self.go_on(run, branch)

    def _settled(self, run: Run, branch: Branch | None, question: Question, answer: str) -> Outcome:
        outcome = self._conduct.settled(self, run, branch, question, answer)
        if outcome is not None:
            return outcome
        if self._policy.settled == "refuse" or (branch is not None and self._lost(branch)):
            self._refuse_settled(question)
        return Outcome("idle", marks=()) if branch is None else self._present(branch)

    def _refuse_settled(self, question: Question) -> NoReturn:
        raise Refused(f"question {question.text} takes no answer now")

    def _admit_poisoned(self, branch: Branch) -> None:
        if branch.invalid is not None and self._policy.poisoned == "refuse":
            raise Refused(f"task {branch.invalid} returned an invalid update")

    def _parked(self, branch: Branch) -> Question | None:
        if self._policy.park == "derived":
            return branch.next_question
        return branch.parked_at

    def _was_asked(self, branch: Branch, question: Question) -> bool:
        return question in branch.asked or question == self._parked(branch)

    def _lost(self, branch: Branch) -> bool:
        question = None if self._conduct.parks_survive else branch.parked_at
        return question is not None and (branch.name, question) not in self._asked

    def _present(self, branch: Branch) -> Outcome:
        if branch.complete:
            return self._reply("completed", branch)
        question = self._parked(branch)
        return self._reply("idle", branch) if question is None else self._parked_reply(branch, question)

    def _parked_reply(self, branch: Branch, question: Question) -> Outcome:
        asked = (Asked(question, address_of(branch, question)),)
        return self._reply("parked", branch, asked=asked)

    def _reply(
        self, kind: OutcomeKind, branch: Branch, marks: Sequence[str] | None = None, asked: tuple[Asked, ...] = ()
    ) -> Outcome:
        shown = branch.marks if marks is None else marks
        return Outcome(kind, asked, tuple(Mark.parse(text) for text in shown), address=branch.name)
