"""CrewAI flows: `@persist` over `SQLiteFlowPersistence`, and checkpoints over `JsonProvider`.

Wire calls under `@persist`, with `ID` the flow's id and `p` the persistence: start and restart
`F(persistence=p).kickoff(inputs={"id": ID, …})`; resume `F.from_pending(ID, p).resume(answer)`; recover
`F(persistence=p).kickoff(inputs={"id": ID})`; inspect the persistence's `load_state` and `load_pending_feedback`. With
checkpoints: start and restart `F(checkpoint=cfg).kickoff(inputs={"id": ID, …})`; resume `F.from_pending(ID, checkpoint=cfg)`
and then `resume(answer)`; recover `F.from_checkpoint(cfg)` of the newest checkpoint and then `kickoff()`; fork
`F.fork(cfg, branch=…)` of the question's checkpoint, `kickoff()`, which asks again, and the answer to that; inspect what
`crewai checkpoint list` and `info` do. `SqliteProvider` needs SQLite 3.45, so it is no option.
"""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.adapters import (
    _crewai_store,
    _crewai_surroundings,  # noqa: F401, before CrewAI is imported
)
from fuzzresume.adapters._crewai_life import CrewLife
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.harness.env import Env, Store

_BEST_EFFORT = Documented(
    "LateRecord",
    "checkpoint writes are best-effort: event handlers make them in a thread pool while the flow goes on",
    "docs.crewai.com/en/concepts/checkpointing, Storage; docstring of crewai.events.event_bus.CrewAIEventsBus",
    "crewai 1.15",
)

_OTHER = {"inline": "queue", "queue": "inline"}
"""The executor of a second recovery: checkpoints as late as somebody waits for them, or at once."""


class CrewAdapter:
    """The target; see the module's docstring for the calls.

    Options: `plane` is what a flow recovers from; `state` is how its state is declared. Under `@persist`, `recover=check`
    first looks for a pending question, as `from_pending` does, and kicks off where there is none; `call` always kicks off.
    With checkpoints, `answer` is how an answer arrives: by `from_pending`, or from a feedback provider that has it when a
    restored flow asks again; `executor` is who calls the event handlers that write: `inline` the flow itself, at once,
    `queue` only when somebody waits for them (a slow disk, first in first out). On request it is `threads`, the bus's own
    pool, in which a checkpoint is made of a flow that goes on meanwhile: no two executions need be alike.
    """

    name = "crewai"
    packages: tuple[str, ...] = ("crewai",)
    options: Mapping[str, tuple[str, ...]] = {
        "plane": ("checkpoint", "persist"),
        "state": ("structured", "unstructured"),
        "recover": ("check", "call"),
        "answer": ("pending",),
        "executor": ("inline", "queue"),
    }
    on_request: Mapping[str, Mapping[str, OnRequest]] = {
        # Its runs go astray at every second question, so hardly anything else would be seen in them.
        "answer": {"provider": OnRequest()},
        "executor": {"threads": OnRequest()},
    }

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`.

        An answer goes to whatever is pending; no call names a question. The fork of `@persist`, `restore_from_state_id`,
        copies a state and runs all methods again, so no question can be answered anew. `@persist` states that it saves after
        every method, before the next; checkpoints are best-effort.

        In a pool of threads a death of one handler ends neither the others nor the flow; so only a copy of the store or
        SIGKILL counts as a death there.
        """
        checkpoint = options["plane"] == "checkpoint"
        threads = options["executor"] == "threads"
        return Capabilities(
            fork="Flow.fork of the question's checkpoint" if checkpoint else None,
            trunk=checkpoint,
            names_question=False,
            schema=options["state"] == "structured",
            retry=True,
            tamper=_crewai_store.tamper_kinds(options),
            other_schedule={"executor": _OTHER[options["executor"]]} if checkpoint and not threads else {},
            slow={"executor": "inline"} if options["executor"] == "queue" else {},
            in_process=not threads,
            deterministic=not threads,
            records=not checkpoint,
            documented=(_BEST_EFFORT,) if checkpoint else (),
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """Each plane has options of its own; those of the other keep their defaults."""
        others = ("answer", "executor") if options["plane"] == "persist" else ("recover",)
        return all(options[name] == self.options[name][0] for name in others)

    def life(self, env: Env) -> CrewLife:
        """Build the flow's class afresh. Raises what the store's driver raises when it cannot be opened."""
        return CrewLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead store; `branch` is the id of a checkpoint."""
        return _crewai_store.frontier(store, branch)

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the newest state. Raises Unsupported for a kind not in the capabilities."""
        _crewai_store.tamper(store, kind)


ADAPTER = CrewAdapter()
