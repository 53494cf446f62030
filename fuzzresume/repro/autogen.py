"""AutoGen's calls in a script of their own."""

from __future__ import annotations

from dataclasses import replace

from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.recipe import pinned
from fuzzresume.repro.script import TEMPLATES

_FIRST = frozenset({"start", "restart", "inspect"})
"""Commands that a process can make without a stored state."""


class AutoGenRecipe:
    """A `Swarm`, a `RoundRobinGroupChat` or a `GraphFlow` that hands its questions to the user, and a file for its state."""

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """AgentChat and the core that it rests on."""
        return pinned(plan)

    def program(self, plan: Plan) -> str:
        """The workload as a team, its agents, and what the caller does around `team.run`."""
        commands = [sent for step in plan.steps for sent in step.command.sent]
        ops = [command.op for command in commands]
        return TEMPLATES.get_template("autogen.py.jinja").render(
            options=plan.trace.options,
            tasks=plan.trace.workload.tasks,
            gates=sum(task.questions > 0 for task in plan.trace.workload.tasks),
            points=plan.points,
            reads_store=plan.reads_store,
            poisons=any(command.poison is not None for command in commands),
            rounds=ops.count("start") + ops.count("restart") > 1,
            calls=" ".join(self._calls(plan)),
            fails=(fails := any(command.crash is not None and command.crash.by == "exception" for command in commands)),
            noisy=fails or any(seen.expect.kind == "refused" for seen in plan.trace.seen),
            damages=dict.fromkeys(command.kind for command in commands if command.op == "tamper"),
        )

    def _calls(self, plan: Plan) -> list[str]:
        """Every call of the script."""
        made = [step for step in plan.steps if step.command.op != "reload"]
        return [self.call(plan, replace(step, command=sent)) for step in made for sent in step.command.sent]

    def call(self, plan: Plan, step: Step) -> str:
        """One `run` a command, on a team that has loaded its state where the process has not made it itself."""
        command, swarm = step.command, plan.trace.options["team"] == "swarm"
        if command.op == "tamper":
            return f"{(command.kind or '').replace('-', '_')}()"
        run = self._team(plan, step)
        match command.op:
            case "start":
                return f'{run}.run("go")'
            case "restart" if plan.trace.options["restart"] == "reset":
                return f'{run}.reset().run("go")'
            case "restart":
                return f'{run}.run("go")'
            case "recover" | "retry":
                return f"{run}.run()"
            case "inspect":
                return f"{run}.inspect()"
            case "resume" | "redeliver" | "stray" if command.token is not None:
                answer = plan.answer(command.token)
                return (
                    f'{run}.run(reply("{answer}", "t{command.token.question.task}"))' if swarm else f'{run}.run("{answer}")'
                )
        raise NoScript(f"AutoGen has no call for {command.op}")

    def _team(self, plan: Plan, step: Step) -> str:
        """The team that a command is sent to. One that has raised is run again by a retry alone."""
        op = step.command.op
        if plan.begins(step):
            loads = op not in _FIRST or step.process > 1
        else:
            loads = op not in ("retry", "inspect") and self._raised(plan, step)
        if not loads:
            return "run"
        return "run.load_if_saved()" if op in _FIRST else "run.load()"

    @staticmethod
    def _raised(plan: Plan, step: Step) -> bool:
        """Whether the process's last run raised. A tool's exception does not come out of a run."""
        number = step.number - 2
        while number >= 0 and plan.steps[number].command.op == "inspect":
            number -= 1
        kind = plan.trace.seen[number].expect.kind
        return kind == "refused" or (kind == "crashed" and plan.trace.options["agent"] == "plain")


RECIPE = AutoGenRecipe()
