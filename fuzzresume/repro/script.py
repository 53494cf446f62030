"""The script that reproduces a finding: the framework's part from its recipe, on a stage that is the same for all."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from typing import Any

import jinja2

from fuzzresume.contract.commands import Command
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.trace import Trace
from fuzzresume.repro.plan import NoScript, Plan, Shown, Step
from fuzzresume.repro.recipe import Recipe, recipe_of

WIDTH = 120
"""Columns of a script's prose."""

TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("fuzzresume.repro"),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)
"""The templates of scripts and issue drafts; nothing is escaped, for neither is HTML."""


def script(trace: Trace, recipe: Recipe | None = None) -> str:
    """The source of `repro.py`. Raises NoScript where none can be written, and says why."""
    plan = Plan(trace)
    try:
        return _written(plan, recipe or recipe_of(trace.target))
    except (KeyError, jinja2.UndefinedError) as error:
        raise NoScript(f"the trace lacks what its recipe needs: {error}") from error


def _written(plan: Plan, recipe: Recipe) -> str:
    trace = plan.trace
    options = " ".join(f"{key}={value}" for key, value in trace.options.items())
    source = TEMPLATES.get_template("script.py.jinja").render(
        requirements=recipe.requirements(plan),
        title=sentences(title(plan), WIDTH),
        seen_on=sentences(f"Seen on {versions(trace)} ({options}).", WIDTH),
        plan=plan,
        expected=sentences(plan.found.expected),
        observed=sentences(plan.found.observed),
        program=recipe.program(plan).strip(),
        processes=[[line(plan, recipe, step) for step in steps] for steps in plan.processes],
        races=any(step.command.op == "race" for step in plan.steps),
        held=held(plan),
        dies="kill" in deaths(plan),
        fails="exception" in deaths(plan),
        poisons=any(step.command.poison is not None for step in plan.steps),
        recorded={number: literal(shown) for number, shown in plan.recorded.items()},
        legal=[literal(shown) for shown in nearest_first(plan)],
        tells=any(not {"shows", "hides"}.isdisjoint(shown) for shown in plan.legal),
        last=len(plan.steps),
    )
    return re.sub(r"\n{4,}", "\n\n\n", source)


def title(plan: Plan) -> str:
    """One line: what goes wrong, such as `LangGraph: a fork was not served its own answer`."""
    return f"{plan.trace.target}: {plan.found.cls}"


def versions(trace: Trace) -> str:
    """`langgraph 1.2.9, langgraph-checkpoint 4.1.1`."""
    return ", ".join(f"{name} {version}" for name, version in trace.packages.items())


def rule(plan: Plan) -> str:
    """When the property is violated, in a sentence of its own."""
    return PROPERTIES[plan.found.property].violated


def line(plan: Plan, recipe: Recipe, step: Step) -> dict[str, Any]:
    """A step as the template writes it."""
    command = step.command
    racers = [
        {"call": recipe.call(plan, Step(step.number, step.words, racer, step.process)), "answer": plan.answer(racer.token)}
        for racer in command.racers
    ]
    return {
        "number": step.number,
        "words": step.words,
        "op": command.op,
        "call": "" if command.racers else recipe.call(plan, step),
        "planted": planted(command),
        "racers": racers,
        "turns": [(turn.racer + 1, turn.hook, turn.nth) for turn in command.turns],
    }


def planted(command: Command) -> str:
    """What is planted in a command, as keyword arguments of the stage's `command`."""
    words = ""
    if (crash := command.crash) is not None:
        words += f', {"dies" if crash.by == "kill" else "fails"}_at=("{crash.hook}", {crash.nth})'
    if command.poison is not None:
        words += f", poisons={command.poison}"
    return words


def deaths(plan: Plan) -> set[str]:
    """The ways to die that are planted anywhere."""
    return {sent.crash.by for step in plan.steps for sent in step.command.sent if sent.crash is not None}


def held(plan: Plan) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """By command and racer, both counted from 1: where its turns take it, up to the turn that takes it to its end.

    A turn counts from the beginning of the race, so a point that was passed in an earlier turn holds nobody.
    """
    points: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for step in plan.steps:
        for racer in range(len(step.command.racers)):
            turns = [turn for turn in step.command.turns if turn.racer == racer]
            stops = list(itertools.takewhile(lambda turn: turn.hook, turns))
            points[step.number, racer + 1] = [(turn.hook, turn.nth) for turn in stops]
    return {racer: stops for racer, stops in points.items() if stops}


def nearest_first(plan: Plan) -> list[Shown]:
    """What would have been right of the last command; first what is most like what was seen."""
    seen = plan.recorded[len(plan.steps)]

    def unlike(shown: Shown) -> tuple[bool, int]:
        return shown["outcome"] != seen["outcome"], -len(set(shown["effects"]) & set(seen["effects"]))

    return sorted(plan.legal, key=unlike)


def literal(shown: Shown) -> str:
    """A dict of lists and texts as Python source; JSON is that, where there is neither true, false nor null."""
    return json.dumps(shown)


def sentences(text: str, width: int = WIDTH - 10) -> list[str]:
    """A text in lines of at most `width` columns, fit for a docstring that stands in Markdown."""
    plain = one_line(text).replace("\\", "/").replace('"""', "'").replace("```", "'")
    return textwrap.wrap(plain, width) or [""]


def one_line(text: str) -> str:
    """A text without what cannot be printed, such as line breaks, NUL, and marks that turn the direction of writing."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
