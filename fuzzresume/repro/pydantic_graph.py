"""pydantic-graph's calls in a script of their own."""

from __future__ import annotations

from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.recipe import pinned
from fuzzresume.repro.script import TEMPLATES

FIELDS = frozenset({"dropped-field", "wrong-type"})
"""Kinds of damage that concern the state's `note`."""


class PydanticGraphRecipe:
    """A `Graph` over `FileStatePersistence`, resumed by one of the three ways that there are."""

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """pydantic-graph."""
        return pinned(plan)

    def program(self, plan: Plan) -> str:
        """The workload as a graph of nodes, its file, and the calls that resume it."""
        sent = [command for step in plan.steps for command in step.command.sent]
        tampers = sorted({command.kind for command in sent if command.op == "tamper" and command.kind})
        poisons = any(command.poison is not None for command in sent)
        ops = {command.op for command in sent}
        return TEMPLATES.get_template("pydantic_graph.py.jinja").render(
            plan=plan,
            recipe=plan.trace.options["recipe"],
            tasks=plan.trace.workload.tasks,
            gates=[task for task in plan.trace.workload.tasks if task.questions],
            ops=ops,
            answered=any(command.token is not None for command in sent),
            restores=bool(ops & {"recover", "retry"}),
            new_files=_new_files(plan),
            tampers=tampers,
            poisons=poisons,
            noted=poisons or not FIELDS.isdisjoint(tampers),
            torn=not plan.points.isdisjoint({"save.truncated", "save.half"}),
        )

    def call(self, plan: Plan, step: Step) -> str:
        """One run of the graph a command, until it ends or asks."""
        command, answer = step.command, plan.answer(step.command.token)
        docs = plan.trace.options["recipe"] == "docs"
        match command.op:
            case "start" | "restart":
                return "script(run, None)" if docs and not _new_files(plan) else "begin(run)"
            case "recover" | "retry":
                return "restore(run)"
            case "resume" | "redeliver" | "stray":
                return f'{"script" if docs else "restore"}(run, "{answer}")'
            case "inspect":
                return "look(run)"
            case "tamper":
                return "damage()"
        raise NoScript(f"{command.op} is not written yet")


def _new_files(plan: Plan) -> bool:
    """Whether a run is begun after the first command, which gives it another file."""
    begun = any(step.command.op in ("start", "restart") for step in plan.steps[1:])
    return begun and plan.trace.options["restart"] == "new-file"


RECIPE = PydanticGraphRecipe()
