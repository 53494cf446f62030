"""CrewAI's calls in a script of their own."""

from __future__ import annotations

from dataclasses import replace

from fuzzresume.contract.commands import Command
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.recipe import pinned
from fuzzresume.repro.script import TEMPLATES


class CrewAIRecipe:
    """A flow over `@persist`, or over checkpoints, whose human is somewhere else."""

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """CrewAI, which brings everything along."""
        return pinned(plan)

    def program(self, plan: Plan) -> str:
        """The workload as a flow, and the calls that its caller makes.

        Raises NoScript for what rests on schedules, and where branches cannot be told apart.
        """
        options = plan.trace.options
        commands = [sent for step in plan.steps for sent in step.command.sent]
        forks = any(command.op == "fork" for command in commands)
        trunk = any(command.branch == "trunk" for command in commands)
        _require_expressible(plan, commands)
        return TEMPLATES.get_template("crewai.py.jinja").render(
            options=options,
            checkpoints=options["plane"] == "checkpoint",
            structured=options["state"] == "structured",
            provided=options["answer"] == "provider" and any(command.token is not None for command in commands),
            tasks=plan.trace.workload.tasks,
            gates=any(task.questions for task in plan.trace.workload.tasks),
            points=plan.points,
            reads_store=plan.reads_store,
            rounds=plan.reads_store and any(command.op == "restart" for command in commands),
            noted=any(task.questions > 1 for task in plan.trace.workload.tasks),
            poisons=any(command.poison is not None for command in commands),
            forks=forks,
            trunk=trunk,
            calls=" ".join(self._calls(plan)),
            damages=dict.fromkeys(command.kind for command in commands if command.op == "tamper"),
        )

    def call(self, plan: Plan, step: Step) -> str:
        """One function of the script a command; each says how CrewAI is called."""
        command, answer = step.command, plan.answer(step.command.token)
        branch = ', "trunk"' if command.branch == "trunk" else ""
        match command.op:
            case "start" | "restart":
                return "kickoff(run)"
            case "recover" | "retry":
                return f"recover(run{branch})"
            case "inspect":
                return f"inspect(run{branch})"
            case "fork" if command.token is not None:
                return f'fork(run, "{command.token.question.text}", "{answer}")'
            case "resume" | "redeliver" | "stray":
                return f'resume(run, "{answer}"{branch})'
            case "tamper":
                return f"{(command.kind or '').replace('-', '_')}()"
        raise NoScript(f"CrewAI has no call for {command.op}")

    def _calls(self, plan: Plan) -> list[str]:
        """Every call of the script."""
        made = [step for step in plan.steps if step.command.op != "reload"]
        return [self.call(plan, replace(step, command=sent)) for step in made for sent in step.command.sent]


def _require_expressible(plan: Plan, commands: list[Command]) -> None:
    options, forks = plan.trace.options, [command.op for command in commands].count("fork")
    if options["executor"] == "threads":
        raise NoScript("executor=threads: no two executions of the event bus's pool need be alike")
    if forks > 1:
        raise NoScript("a question that is forked twice is not written yet")
    if plan.reads_store and any(command.branch == "trunk" for command in commands):
        raise NoScript("the violation rests on what the trunk's checkpoints record, which is not read apart yet")


RECIPE = CrewAIRecipe()
