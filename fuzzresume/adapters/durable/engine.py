"""What the commands do: one life of the durable engine.

Every command reads the log first, so a life holds nothing that a crash could cost, and every commit lies between the hooks
`commit.before` and `commit.after`, with `commit.half` in its middle.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.adapters.durable.faults import Faults, Step
from fuzzresume.adapters.durable.log import Log, Row
from fuzzresume.adapters.durable.policy import Policy
from fuzzresume.adapters.durable.run import Branch, Run, address_of, branch_of, head_of
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Update


class Refused(Exception):
    """The engine does not do that; nothing was changed."""


class InvalidUpdate(Refused):
    """A task returned an update that the declared schema forbids; the task was not recorded."""


class Engine:
    """A life: the calls of `harness.adapter.Life`, under a policy, with a fault or none.

    `parked_here` are the branches that this very process parked, `recovering` says that the present call goes on with a
    branch that it found crashed: only faults look at them.
    """

    def __init__(self, env: Env, faults: Faults) -> None:
        self.env = env
        self.faults = faults
        self.policy = Policy.of(env.options)
        self.parked_here: set[str] = set()
        self.recovering = False
        self.run = Run(env.workload, self.policy.latest)
        ignores = self.policy.extra_field == "ignore"
        self._log = Log(env.folder, verify=faults.verify, unknown_fields=ignores, exclusive=faults.exclusive)
        self._held: dict[Question, str] = {}
        self._late: list[Row] = []

    # The calls.

    def start(self) -> Outcome:
        """Begin the run, or send the input again when it has begun."""
        branch = self._read(None)
        if branch is None:
            return self._epoch([], {})
        return self.go(branch) if branch.untouched else self._restart(branch)

    def restart(self) -> Outcome:
        """Send the input again: the policy says what that means."""
        return self.start()

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Deliver an answer, recognised by its question; the same bytes again are recognised too."""
        found = self._read(address or branch)
        if found is None:
            return self._settled(self._nowhere(), question, answer)
        if self.parked(found) and self.faults.lost(self, found):
            raise Refused("no question is pending")
        if question in found.answers and not self.acknowledged(found, question):
            return self._in_doubt(found, question, answer)
        if question == found.next_question and self._was_asked(found, question):
            return self.serve(found, question, answer)
        return self._settled(found, question, answer)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Continue from a question's interrupt on a branch of its own."""
        parent = self._read(address)
        if self.policy.fork == "refuse" or parent is None or question not in parent.asked:
            raise Refused("this run is not forked")
        before = [t for t in self.env.workload.order if t < question.task]
        answers = {q.text: token for q, token in parent.answers.items() if q < question}
        served = self.faults.fork_answer(parent, question, answer)
        if self.policy.answer == "first":
            answers[question.text] = served
        else:
            self._held[question] = served
        body = {
            "parent": parent.name,
            "at": question.text,
            "done": before,
            "marks": parent.marks[: parent.base + len(before)],
            "base": parent.base,
            "answers": answers,
        }
        self.recovering = False
        name = self.run.next_name
        self.commit([Row("fork", name, body)])
        self.faults.leak(self, parent, question, answer)
        return self.go(self.run.branches[name])

    def recover(self, *, branch: str | None) -> Outcome:
        """Go on after a crash, with no new information."""
        found = self._read(branch)
        if found is None:
            raise Refused("nothing was started here")
        if self.parked(found):
            if self.faults.lost(self, found):
                return Outcome("idle", marks=_marks(found.marks))
            self.faults.forget(self, found)
            if self.policy.recover_parked == "refuse":
                raise Refused("the run waits for an answer")
            return self._present(found)
        if found.complete:
            if self.policy.recover_completed == "refuse":
                raise Refused("the run is complete")
            self._catch_up(found)
            return self._present(found)
        if found.untouched and self.policy.empty_recover == "refuse":
            raise Refused("nothing is durable yet: start the run")
        if found.invalid is not None and self.policy.poisoned == "refuse":
            raise Refused(f"task {found.invalid} returned an invalid update")
        if self.faults.refuses(found):
            raise Refused("the run cannot be recovered")
        return self.go(found)

    def inspect(self, *, branch: str | None) -> Outcome:
        """Look, and touch nothing."""
        found = self._read(branch)
        if found is None:
            return Outcome("inert")
        self.faults.inspect(self, found)
        return Outcome("inert", marks=_marks(found.marks))

    def close(self) -> None:
        """Release the file."""
        self._log.close()

    # What the calls are made of; faults use it too.

    def parked(self, branch: Branch) -> bool:
        """The branch waits for an answer."""
        if branch.complete or branch.invalid is not None or branch.name not in self.run.branches:
            return False
        if self.policy.park == "derived":
            return branch.next_question is not None
        return branch.parked_at is not None

    def crashed(self, branch: Branch) -> bool:
        """A life of the branch ended without a park and without the last record."""
        return not (branch.complete or self.parked(branch) or branch.untouched)

    def commit(self, rows: Sequence[Row]) -> None:
        """Make rows durable, all or none, between two hooks; at the third they are half written."""
        if not rows:
            return
        self.env.hook("commit.before")
        for stored in self._log.append(rows, lambda: self.env.hook("commit.half")):
            self.run.apply(stored)
        self.env.hook("commit.after")

    def serve(self, branch: Branch, question: Question, answer: str) -> Outcome:
        """Take an answer and go on."""
        if self.policy.answer == "first":
            self.commit([_answer(branch, question, answer)])
        else:
            self._held[question] = answer
        return self.go(branch)

    def go(self, branch: Branch) -> Outcome:
        """Run what is left of the branch until it parks or completes."""
        self._catch_up(branch)
        return self.follow(branch, self.faults.plan(self, branch, recovering=self.recovering))

    def follow(self, branch: Branch, plan: Sequence[Step]) -> Outcome:
        """Run a plan."""
        for step in plan:
            if step.mode == "skip":
                self._record(branch, step.task, Update("", "ok"))
                continue
            self.env.enter(step.task)
            if step.mode == "silent":
                continue
            if (question := self._ask(branch, step.task)) is not None:
                return self._park(branch, question)
            update = self._fire(branch, step.task)
            if step.mode == "run":
                self._complete(branch, step.task, update)
        self._flush()
        self.faults.finish(self, branch)
        return Outcome("completed", marks=_marks(branch.marks), address=head_of(branch))

    def ask_again(self, branch: Branch, question: Question) -> None:
        """Forget that a question was answered; no point of it is one to die at."""
        for stored in self._log.append([Row("park", branch.name, {"question": question.text})]):
            self.run.apply(stored)

    def refire(self, branch: Branch, task: int) -> None:
        """Fire a settled task's effect once more."""
        self.env.enter(task)
        self._fire(branch, task)

    def _ask(self, branch: Branch, task: int) -> Question | None:
        """The first question of `task` that nobody answered, after the faults had their chance to."""
        for question in self.env.workload.questions(task):
            if question in branch.answers or question in self._held:
                continue
            if (answer := self.faults.unasked(self, question)) is None:
                return question
            self.commit([_answer(branch, question, answer)])
        return None

    def _fire(self, branch: Branch, task: int) -> Update:
        known = {**branch.answers, **self._held}
        tokens = [known[q] for q in self.env.workload.questions(task)]
        return self.env.body(task, tokens, reads=branch.marks)

    def _complete(self, branch: Branch, task: int, update: Update) -> None:
        if not self.faults.valid(update):
            self._held.clear()
            self._flush()
            self.commit([Row("refusal", branch.name, {"task": task})])
            raise InvalidUpdate(f"task {task} returned note={update.note!r}, which is no text")
        self._record(branch, task, update)

    def _record(self, branch: Branch, task: int, update: Update) -> None:
        body = {"task": task, "mark": update.mark, "note": update.note}
        rows = self._take_held(branch, task)
        if self.policy.record == "journal":
            self.commit([*rows, Row("journal", branch.name, body)])
            rows = []
        rows.append(Row("record", branch.name, body))
        if self.faults.late:
            self._late += rows
            branch.marks.append(update.mark)
        else:
            self.commit(rows)

    def _take_held(self, branch: Branch, task: int) -> list[Row]:
        taken = [q for q in self._held if q.task == task]
        return [_answer(branch, q, self._held.pop(q)) for q in taken]

    def _flush(self) -> None:
        late, self._late = self._late, []
        for row in late:
            if row.kind == "record" and row.body["mark"]:
                self.run.branches[row.branch].marks.remove(row.body["mark"])
        self.commit(late)

    def _park(self, branch: Branch, question: Question) -> Outcome:
        self._flush()
        rows = self._take_held(branch, question.task)
        if self.policy.park == "durable":
            rows.append(Row("park", branch.name, {"question": question.text}))
        self.commit(rows)
        self.parked_here.add(branch.name)
        return self._parked(branch, question)

    def _parked(self, branch: Branch, question: Question) -> Outcome:
        asked = Asked(question, address_of(branch, question))
        return Outcome("parked", (asked,), _marks(branch.marks), address=head_of(branch))

    def _present(self, branch: Branch) -> Outcome:
        """The present status, with nothing changed."""
        if branch.complete:
            return Outcome("completed", marks=_marks(branch.marks), address=head_of(branch))
        question = branch.next_question
        if self.parked(branch) and question is not None:
            if self.policy.reenter == "yes":
                self.env.enter(question.task)
            return self._parked(branch, question)
        return Outcome("idle", marks=_marks(branch.marks))

    def _catch_up(self, branch: Branch) -> None:
        """Record what only the journal knows."""
        self.commit([Row("record", branch.name, body) for body in branch.journal.values()])

    def _restart(self, branch: Branch) -> Outcome:
        match self.policy.restart:
            case "refuse":
                raise Refused("the run was started already")
            case "inert":
                return self._present(branch)
            case "continue":
                return self.go(branch) if self.crashed(branch) else self._present(branch)
        marks = branch.marks if self.policy.restart == "new-accumulated" else []
        return self._epoch(marks, self.faults.kept(branch))

    def _epoch(self, marks: list[str], answers: dict[str, str]) -> Outcome:
        self.recovering = False
        name = self.run.next_name
        self.commit([Row("epoch", name, {"input": "go", "marks": list(marks), "answers": answers})])
        return self.go(self.run.branches[name])

    def _in_doubt(self, branch: Branch, question: Question, answer: str) -> Outcome:
        """An answer arrives whose question has one that nobody acknowledged, because a life died."""
        if answer == branch.answers[question]:
            match self.policy.redeliver_crashed:
                case "refuse":
                    raise Refused("this answer was delivered before")
                case "inert":
                    return self._present(branch)
            return self.go(branch)
        match self.policy.doubt:
            case "refuse":
                raise Refused("another answer was delivered before")
            case "new" if question.task not in branch.settled:
                self.commit([_answer(branch, question, answer)])
        return self.go(branch)

    def _settled(self, branch: Branch, question: Question, answer: str) -> Outcome:
        """An answer arrives that the run does not take."""
        if (outcome := self.faults.settled(self, branch, question, answer)) is not None:
            return outcome
        if self.policy.settled == "refuse":
            raise Refused(f"question {question.text} takes no answer now")
        return self._present(branch)

    def _was_asked(self, branch: Branch, question: Question) -> bool:
        """Where parks leave no row, whatever stands next may have been asked."""
        return question in branch.asked or self.parked(branch) or self.policy.park == "derived"

    def acknowledged(self, branch: Branch, question: Question) -> bool:
        """The question's answer was followed by its task's record or by another question."""
        later = any(q.task == question.task and q > question for q in branch.answers)
        return question.task in branch.done or later or self.parked(branch)

    def _read(self, address: str | None) -> Branch | None:
        self._held.clear()
        self._late.clear()
        self.run = Run.fold(self._log.read(), self.env.workload, self.policy.latest)
        found = self.run.at(None if address is None else branch_of(address))
        self.recovering = found is not None and self.crashed(found)
        return found

    def _nowhere(self) -> Branch:
        """A branch for a delivery to a run that nobody started; it is never stored."""
        return Branch("", self.env.workload)


def _answer(branch: Branch, question: Question, answer: str) -> Row:
    return Row("answer", branch.name, {"question": question.text, "token": answer})


def _marks(marks: Sequence[str]) -> tuple[Mark, ...]:
    return tuple(Mark.parse(mark) for mark in marks)
