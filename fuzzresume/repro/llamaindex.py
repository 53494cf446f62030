"""LlamaIndex Workflows' calls in a script of their own."""

from __future__ import annotations

from fuzzresume.contract.commands import Command
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.recipe import pinned
from fuzzresume.repro.script import TEMPLATES


class LlamaIndexRecipe:
    """A `Workflow` whose caller keeps snapshots of its `Context`, or the journal, as the documentation has it."""

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """LlamaIndex Workflows."""
        return pinned(plan)

    def program(self, plan: Plan) -> str:
        """The workload as a workflow, the caller's file, and the caller's loop."""
        options, sent = plan.trace.options, [command for step in plan.steps for command in step.command.sent]
        # An input after the first command meets what was kept; a plain one comes with a recovery where nothing is running.
        again = options["input"] == "plain" or any(command.op in ("start", "restart") for command in sent[1:])
        return TEMPLATES.get_template("llamaindex.py.jinja").render(
            plan=plan,
            options=options,
            order=plan.trace.workload.tasks,
            ops={command.op for command in sent},
            answered=any(command.token is not None for command in sent),
            loads=again or any(command.token is not None or command.op in ("recover", "inspect") for command in sent),
            again=again,
            tampers=sorted({command.kind for command in sent if command.op == "tamper"}),
            poisons=any(command.poison is not None for command in sent),
            imports=_events(plan),
            crowded=_crowded(plan),
        )

    def call(self, plan: Plan, step: Step) -> str:
        """One `workflow.run` or `send_event` a command, awaited until nothing is left to run."""
        command = step.command
        match command.op:
            case "start" | "restart":
                return "run.begin()"
            case "recover":
                return "run.recover()"
            case "resume" | "redeliver" | "stray":
                return f"run.answer({_event(plan, command)})"
            case "inspect":
                return "run.look()"
            case "tamper":
                return "damage()"
        raise NoScript(f"{command.op} is not written yet")


def _event(plan: Plan, command: Command) -> str:
    """A person's answer, as the workflow takes it."""
    answer = f'response="{plan.answer(command.token)}"'
    question, idiom = command.question, plan.trace.options["idiom"]
    assert question is not None, "an answer is meant for a question"
    if idiom == "events":
        return f"Answer{question.task}_{question.index}({answer})"
    named = "" if idiom == "wait-bare" else f', question="{question.text}"'
    return f"HumanResponseEvent({answer}{named})"


def _events(plan: Plan) -> list[str]:
    """The classes of events that the script names."""
    options, tasks = plan.trace.options, plan.trace.workload.tasks
    asks, parks = any(task.questions for task in tasks), options["policy"] == "park"
    steps = options["store"] == "snapshot" and not parks
    needed = {
        "Event": len(tasks) > 1 and options["idiom"] != "one-step",
        "HumanResponseEvent": asks,
        "InputRequiredEvent": asks or parks,
        "StartEvent": True,
        "StepState": steps,
        "StepStateChanged": steps,
        "StopEvent": True,
    }
    return [name for name, used in needed.items() if used]


def _crowded(plan: Plan) -> bool:
    """Whether several steps can be in work at once: an input or an answer reaches a run that was cut off at work, or whose
    step runs from its top again, as each step that waits does once it is restored."""
    cut_off = False
    for step, seen in zip(plan.steps, plan.trace.seen, strict=True):
        rerun = step.process > 1 and plan.trace.options["idiom"] != "events"
        if (cut_off or rerun) and any(sent.token or sent.op in ("start", "restart") for sent in step.command.sent):
            return True
        cut_off = cut_off or seen.expect.kind in ("refused", "crashed", "hung")
    return False


RECIPE = LlamaIndexRecipe()
