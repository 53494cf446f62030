"""A toy durable workflow library, the framework of the example in the README. Nobody should work with it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[[str], str]
Step = Callable[[list[str], Ask], str]
"""Gets the results of the steps before it and a way to ask; returns a result of its own."""


class Waiting(Exception):
    """Raised through a step that asks what nobody has answered."""


class Workflow:
    """Steps over one JSON file, which is written before the next step begins. Each call returns the question that the
    workflow waits for, or None when it has ended."""

    def __init__(self, path: Path, steps: list[Step]) -> None:
        self.path = path
        self.steps = steps

    def run(self) -> str | None:
        """Begin, from nothing."""
        state = {"results": [], "answers": {}, "waiting": None}
        self.save(state)
        return self._go(state)

    def resume(self) -> str | None:
        """Go on with what the file holds."""
        return self._go(self.load())

    def answer(self, key: str, value: str) -> str | None:
        """Answer the question that the workflow waits for. Raises ValueError when it waits for another one, or for none."""
        state = self.load()
        if state["waiting"] != key:
            raise ValueError(f"nobody asks {key}")
        state["answers"][key] = value
        self.save(state)
        return self._go(state)

    def load(self) -> Any:
        """The state. Raises OSError or ValueError when the file is not there or damaged."""
        return json.loads(self.path.read_text())

    def save(self, state: Any) -> None:
        """Replace the file."""
        temporary = self.path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(state))
        temporary.replace(self.path)

    def _go(self, state: Any) -> str | None:
        def ask(key: str) -> str:
            if key not in state["answers"]:
                raise Waiting(key)
            return state["answers"][key]

        for step in self.steps[len(state["results"]) :]:
            try:
                state["results"].append(step(list(state["results"]), ask))
                state["waiting"] = None
            except Waiting as question:
                state["waiting"] = str(question)
            self.save(state)
            if state["waiting"] is not None:
                return state["waiting"]
        return None
