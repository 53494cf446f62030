"""Recipes: how one framework's calls are written in a script that has nothing but the framework."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib import metadata
from typing import Protocol, cast

from fuzzresume.repro.plan import NoScript, Plan, Step

GROUP = "fuzzresume.repro"
"""The entry point group by which third parties register the recipe of their target: `name = "module:RECIPE"`."""

BUILT_IN: Mapping[str, str] = {
    "langgraph": "fuzzresume.repro.langgraph:RECIPE",
    "llamaindex": "fuzzresume.repro.llamaindex:RECIPE",
    "pydantic-graph": "fuzzresume.repro.pydantic_graph:RECIPE",
    "autogen": "fuzzresume.repro.autogen:RECIPE",
    "crewai": "fuzzresume.repro.crewai:RECIPE",
}


class Recipe(Protocol):
    """One framework's part of a script; it imports no framework itself.

    The rest of the script, the stage, is the same for all (`templates/script.py.jinja`). The stage offers to the framework's
    part: `FOLDER`, a folder of the run's own; `effect(task, *answers)`, which a task calls once its questions are answered;
    `reach(point)`, to be called around every call that makes something durable, because a death can be planted there;
    `poisoned(task)`, whether the task is to return an invalid update; `remember(key, text)` and `recall(key)`, notes that
    outlive a process; `refused(words)` for what the framework says without raising. An
    exception that a line of the script itself raises is no refusal: the script has stumbled.

    The framework's part defines `open_run()`, one process's view of the run, `told(run, reply)`, which turns what a call
    returned into `{"outcome": "parked", "asks": ["2.1"], "state": ["1"]}` (or `completed`, or `idle`; `state` are the marks,
    such as `2:a`), and where `plan.reads_store`, `recorded()`, the tasks that the store records, in their order.
    """

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """What the script needs installed: exact versions, the framework first."""
        ...

    def program(self, plan: Plan) -> str:
        """The framework's part as source. Raises NoScript for options that cannot be written without fuzzresume."""
        ...

    def call(self, plan: Plan, step: Step) -> str:
        """A command (of a race: one racer's) as an expression over `run`, such as `run.invoke("go", CONFIG)`.

        Its value goes to `told`. `tamper` is an expression without `run`, whose value is not looked at. Raises NoScript.
        """
        ...


def recipe_of(target: str) -> Recipe:
    """The recipe of a target, by its name. Raises NoScript where it has none."""
    known = {**{point.name: point.value for point in metadata.entry_points(group=GROUP)}, **BUILT_IN}
    if target not in known:
        raise NoScript(f"no recipe says how {target}'s calls are written without fuzzresume")
    module, _, attribute = known[target].partition(":")
    return cast(Recipe, getattr(importlib.import_module(module), attribute))


def pinned(plan: Plan) -> tuple[str, ...]:
    """The packages that the trace recorded, at their exact versions. Raises NoScript where it recorded none."""
    if not plan.trace.packages:
        raise NoScript("the trace does not say which versions it was seen on")
    return tuple(f"{name}=={version}" for name, version in plan.trace.packages.items())
