"""The adapter of a toy workflow library: what its calls mean in the contract's words."""

import json
from collections.abc import Mapping

from toy_framework import Step, Workflow

from fuzzresume.contract.observation import Asked, Frontier, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.env import Env, Store, Unsupported

FILE = "workflow.json"


class HookedWorkflow(Workflow):
    """The framework, with a point to die at on both sides of everything that it makes durable."""

    def __init__(self, env: Env) -> None:
        super().__init__(env.folder / FILE, [step(env, task) for task in env.workload.order])
        self.env = env

    def save(self, state):
        self.env.hook("save.before")
        super().save(state)
        self.env.hook("save.after")


def step(env: Env, task: int) -> Step:
    def run(results, ask):
        env.enter(task)
        return env.body(task, [ask(question.text) for question in env.workload.questions(task)], reads=results).mark

    return run


class ToyLife:
    """What one process holds. Whatever the framework raises is a refusal."""

    def __init__(self, env: Env) -> None:
        self.workflow = HookedWorkflow(env)

    def start(self) -> Outcome:
        return self.told(self.workflow.run())

    restart = start

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        return self.told(self.workflow.answer(question.text, answer))

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        raise Unsupported("no call goes back to an earlier question")

    def recover(self, *, branch: str | None) -> Outcome:
        return self.told(self.workflow.resume())

    def inspect(self, *, branch: str | None) -> Outcome:
        return Outcome("inert", marks=marks(self.workflow.load()))

    def close(self) -> None:
        pass

    def told(self, waiting: str | None) -> Outcome:
        asked = (Asked(Question.parse(waiting)),) if waiting else ()
        return Outcome("parked" if waiting else "completed", asked, marks(self.workflow.load()))


class ToyAdapter:
    name = "toy"
    packages: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = {}

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        return Capabilities(retry=True, tamper=("empty",))

    def valid(self, options: Mapping[str, str]) -> bool:
        return True

    def life(self, env: Env) -> ToyLife:
        return ToyLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        file = store.folder / FILE
        try:
            return Frontier(tuple(mark.task for mark in marks(json.loads(file.read_text()))) if file.exists() else ())
        except ValueError as error:
            return Frontier(None, f"the file is damaged: {error}")

    def tamper(self, store: Store, kind: str) -> None:
        if kind != "empty":
            raise Unsupported(f"no damage of the kind {kind}")
        (store.folder / FILE).write_text("")


def marks(state) -> tuple[Mark, ...]:
    return tuple(Mark.parse(result) for result in state["results"])


ADAPTER = ToyAdapter()
