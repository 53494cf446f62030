"""LangGraph's calls in a script of their own."""

from __future__ import annotations

from fuzzresume.repro.langgraph_needs import NULL, Needs
from fuzzresume.repro.plan import NoScript, Plan, Step
from fuzzresume.repro.recipe import pinned
from fuzzresume.repro.script import TEMPLATES

_SERVERS = {
    "async-sqlite": "which coroutine goes on while AsyncSqliteSaver's thread works is up to fuzzresume's own event loop",
    "postgres": "PostgresSaver needs a server, which a script of its own does not have",
}
"""Savers of which no script is written, and why."""

_DAMAGES = {"truncated": "truncate", "empty": "empty", "dropped-field": "drop_field", "wrong-type": "change_type"}
"""The function of the script that does each kind of damage."""


class LangGraphRecipe:
    """`StateGraph` and the functional API over `SqliteSaver`, or over `InMemorySaver` where one process is enough."""

    def requirements(self, plan: Plan) -> tuple[str, ...]:
        """LangGraph, its checkpointers, and REMIT where it is wrapped around them."""
        return pinned(plan)

    def program(self, plan: Plan) -> str:
        """The workload as a graph or an entrypoint, over a saver with points to die at."""
        _require_writable(plan)
        return TEMPLATES.get_template("langgraph.py.jinja").render(
            plan=plan,
            options={"wrap": "none", **plan.trace.options},
            tasks=plan.trace.workload.tasks,
            needs=Needs(plan),
        )

    def call(self, plan: Plan, step: Step) -> str:
        """Mostly one `invoke` a command; `noted` keeps what a later command needs in order to come back to a question."""
        needs = Needs(plan)
        said = _call(plan, step, needs)
        return f"noted(run, {said})" if step.number in needs.noted else said


def _call(plan: Plan, step: Step, needs: Needs) -> str:
    command = step.command
    question = command.question.text if command.question is not None else ""
    name = plan.answer(command.token)
    nameless = command.token is not None and command.token.value == NULL
    answer = "None" if nameless else f'"{name}"'
    means = f', none="{name}"' if nameless else ""
    match command.op:
        case "start" | "restart":
            return "invoke(run, INPUT)"
        case "recover" | "retry":
            return "invoke(run, None)"
        case "inspect":
            return "look(run)"
        case "tamper":
            return f"{_DAMAGES[str(command.kind)]}()"
        case "fork" if plan.trace.options["fork"] == "two-call":
            return f'fork(run, "{question}", {answer}{means})'
        case _ if command.at == "question":
            return f'invoke(run, Command(resume={{recall("id of {question}"): {answer}}}){means})'
    at = f', checkpoint=recall("{question}")' if command.op == "fork" else ""
    if step.number in needs.demanded:
        return f'deliver(run, "{question}", {answer}{at}{means})'
    return f"invoke(run, Command(resume={answer}){at}{means})"


def _require_writable(plan: Plan) -> None:
    """Raises NoScript for what cannot be shown without fuzzresume."""
    saver = plan.trace.options["saver"]
    if saver in _SERVERS:
        raise NoScript(_SERVERS[saver])
    if saver == "memory" and (plan.reads_store or len(plan.processes) > 1):
        raise NoScript("InMemorySaver ends with its process, and this trace needs what another process finds")


RECIPE = LangGraphRecipe()
