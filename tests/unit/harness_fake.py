"""A small honest engine for tests of the harness: numbered checkpoint files, the greatest number is the head."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

from fuzzresume.contract.observation import Asked, Frontier, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.env import Env, Store, Unsupported

EMPTY: dict[str, Any] = {"marks": [], "answers": {}}


def names(store: Store) -> list[str]:
    found = store.memory if store.options["store"] == "memory" else os.listdir(store.folder)
    return sorted(name for name in found if name.startswith("cp-") and not name.endswith(".tmp"))


def load(store: Store, name: str | None) -> dict[str, Any]:
    if name is None:
        return EMPTY
    text = store.memory[name] if store.options["store"] == "memory" else (store.folder / name).read_text()
    return json.loads(text)


def head(store: Store) -> str | None:
    return max(names(store), default=None)


class Life:
    def __init__(self, env: Env) -> None:
        self.env = env
        self.closed = False
        if env.options["trouble"] == "thread":
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        if env.options["trouble"] == "build":
            raise OSError("the store cannot be opened")

    def start(self) -> Outcome:
        if self.env.options["trouble"] == "block-warm":
            (self.env.folder.parent.parent / "blocked").write_text("!")
            os.read(os.pipe()[0], 1)
        if names(self.env):
            raise ValueError("already started")
        return self._go(EMPTY)

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        state = load(self.env, address or branch or head(self.env))
        if self._pending(state) != question:
            raise ValueError(f"question {question.text} is not pending")
        return self._answer(state, question, answer)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        if self.env.options["trouble"] == "no-fork":
            raise ValueError("forking is switched off")
        if self.env.options["trouble"] == "slip":
            self.no_such_method()
        return self._answer(load(self.env, address), question, answer)

    def recover(self, *, branch: str | None) -> Outcome:
        if self.env.options["trouble"] == "exit" and self.env.real:
            os._exit(3)
        return self._go(load(self.env, branch or head(self.env)))

    def restart(self) -> Outcome:
        if self.env.options["trouble"] == "block-restart" and self.env.real:
            (self.env.folder.parent / "blocked").write_text("!")
            os.read(os.pipe()[0], 1)
        self._put(EMPTY)
        return self._go(EMPTY)

    def inspect(self, *, branch: str | None) -> Outcome:
        if self.env.options["trouble"] == "no-inspect":
            raise Unsupported("there is no inspection")
        load(self.env, branch or head(self.env))
        return Outcome("inert")

    def close(self) -> None:
        self.env.hook("close")
        self.closed = True

    def _pending(self, state: dict[str, Any]) -> Question | None:
        done = {Mark.parse(text).task for text in state["marks"]}
        task = next((t for t in self.env.workload.order if t not in done), None)
        if task is None:
            return None
        return next((q for q in self.env.workload.questions(task) if q.text not in state["answers"]), None)

    def _answer(self, state: dict[str, Any], question: Question, answer: str) -> Outcome:
        answered = {**state, "answers": {**state["answers"], question.text: answer}}
        self._put(answered)
        return self._go(answered)

    def _go(self, state: dict[str, Any]) -> Outcome:
        for task in self.env.workload.order:
            if task in {Mark.parse(text).task for text in state["marks"]}:
                continue
            self.env.enter(task)
            asked = self._pending(state)
            if asked is not None:
                return Outcome("parked", (Asked(asked, head(self.env)),), self._marks(state), address=head(self.env))
            if self.env.options["trouble"] == "block" and task == 3 and self.env.real:
                os.read(os.pipe()[0], 1)
            tokens = [state["answers"][q.text] for q in self.env.workload.questions(task)]
            try:
                update = self.env.body(task, tokens, state["marks"])
            except RuntimeError as error:
                raise KeyError("wrapped") from error
            except SystemExit:
                if self.env.options["trouble"] != "swallow":
                    raise
                return Outcome("completed", marks=())
            if not isinstance(update.note, str):
                raise TypeError("note must be a string")
            state = {**state, "marks": [*state["marks"], update.mark]}
            self._put(state)
        return Outcome("completed", marks=self._marks(state), address=head(self.env))

    def _marks(self, state: dict[str, Any]) -> tuple[Mark, ...]:
        return tuple(Mark.parse(text) for text in state["marks"])

    def _put(self, state: dict[str, Any]) -> None:
        self.env.hook("put.before")
        name = f"cp-{len(names(self.env)) + 1:04d}"
        if self.env.options["store"] == "memory":
            self.env.memory[name] = json.dumps(state)
        else:
            temporary = self.env.folder / f"{name}.tmp"
            temporary.write_text(json.dumps(state))
            self.env.hook("put.half")
            temporary.rename(self.env.folder / name)
        self.env.hook("put.after")


class FileEngine:
    name = "fake"
    packages: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = {
        "store": ("file", "memory"),
        "trouble": (
            "none",
            "block",
            "block-restart",
            "block-warm",
            "exit",
            "build",
            "swallow",
            "no-fork",
            "no-inspect",
            "slip",
            "thread",
            "unfaithful",
        ),
    }

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        faithful = options["trouble"] != "unfaithful"
        return Capabilities(
            fork="a checkpoint's name",
            addressed=True,
            trunk=True,
            durable=options["store"] == "file",
            schema=True,
            retry=True,
            tamper=("truncated",) if options["store"] == "file" else (),
            images=faithful,
            in_process=faithful,
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        return options["store"] == "file" or options["trouble"] == "none"

    def life(self, env: Env) -> Life:
        return Life(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        newest = head(store)
        try:
            state = load(store, branch or newest)
        except ValueError as error:
            return Frontier(None, str(error), newest)
        return Frontier(tuple(Mark.parse(text).task for text in state["marks"]), head=newest)

    def tamper(self, store: Store, kind: str) -> None:
        if kind != "truncated":
            raise Unsupported(kind)
        path = store.folder / (head(store) or "")
        path.write_text(path.read_text()[:5])


ADAPTER = FileEngine()
