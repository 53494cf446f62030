"""AutoGen AgentChat: `Swarm`, `RoundRobinGroupChat` and `GraphFlow`, whose state the caller keeps in a JSON file.

Wire calls: start and restart `team.run(task=input)`; a question is a `HandoffMessage` to the user, which a
`HandoffTermination` turns into the end of the run; resume `team.run(task=answer)`, for a Swarm
`team.run(task=HandoffMessage(source="user", target=agent, content=answer))`; recover `team.load_state(…)` and then
`team.run()`; inspect `team.save_state()`. After a run the caller writes what `team.save_state()` gave to its file, and a new
process begins with `team.load_state(…)`.

Nothing documented forks: a state that is loaded takes the place of what the team held. A resume names no question, at most
the agent that is to go on.

This module and `_autogen_store` read stores without the framework; it is imported when a life is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuzzresume.adapters import _autogen_store
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.harness.env import Env, Store

if TYPE_CHECKING:
    from fuzzresume.adapters._autogen_life import AutoGenLife

_VERSION = "autogen-agentchat 0.7"

_LATE = Documented(
    "LateRecord",
    "a team's state is to be saved when it does not run, so what a run did is lost when it dies",
    "docstring of BaseGroupChat.save_state; microsoft.github.io/autogen: AgentChat tutorial, Human-in-the-Loop, "
    "Providing Feedback to the Next Run",
    _VERSION,
)

_TEAMS = "microsoft.github.io/autogen: AgentChat tutorial, Teams, Resuming a Team"

_SPEAKS_AGAIN = Documented(
    "ReexecLast",
    "a team whose run has ended can be resumed without a task, and without a handoff the current speaker goes on speaking",
    f"docstring of Swarm; {_TEAMS}",
    _VERSION,
)

_GOES_ON = Documented(
    "RestartMix",
    "a team keeps its conversation unless it is reset, and with a new task it continues from where the last run left off",
    f"docstring of TaskRunner.run; {_TEAMS}",
    _VERSION,
)


class AutoGenAdapter:
    """The target; see the module's docstring for the calls, and `_autogen_programs` for the teams.

    Options: `team`; `agent` is what the participants are: `plain` agents of our own, or AutoGen's `AssistantAgent` with a
    `tool`, over a model that follows a script. `policy` is when the caller saves: at the `park`, when a run has ended, as
    documented, or after every `step`, by runs of one turn. `restart` is how the input is sent again: to the team as it is
    (`run`), or after `reset()`. `write` is how the file is written: anew, and then moved to its place, or, on request only,
    `in-place`, as the documentation does, where a death in the middle leaves half a file.
    """

    name = "autogen"
    packages: tuple[str, ...] = ("autogen-agentchat", "autogen-core")
    options: Mapping[str, tuple[str, ...]] = {
        "team": ("swarm", "roundrobin", "graphflow"),
        "agent": ("plain", "tool"),
        "policy": ("park", "step"),
        "restart": ("run", "reset"),
        "write": ("rename",),
    }
    on_request: Mapping[str, Mapping[str, OnRequest]] = {"write": {"in-place": OnRequest()}}

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`.

        The schema is that of AutoGen's messages; what a tool returns is text in any case. A team whose run raised can be
        run again.
        """
        stated = [_LATE] if options["policy"] == "park" else []
        if options["team"] == "swarm":
            stated += [_SPEAKS_AGAIN, _GOES_ON] if options["restart"] == "run" else [_SPEAKS_AGAIN]
        return Capabilities(
            names_question=False,
            schema=options["agent"] == "plain",
            retry=True,
            tamper=_autogen_store.TAMPER_KINDS,
            records=options["policy"] == "step",
            documented=tuple(stated),
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """A graph goes on from a tool that failed as from one that did not, so no task can fail in it."""
        return (options["team"], options["agent"]) != ("graphflow", "tool")

    def life(self, env: Env) -> AutoGenLife:
        """A life with a loop of its own; the team is built at the first call."""
        from fuzzresume.adapters._autogen_life import AutoGenLife

        return AutoGenLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead file. There are no branches."""
        return _autogen_store.frontier(store)

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the file. Raises Unsupported for a kind not in the capabilities."""
        _autogen_store.tamper(store, kind)


ADAPTER = AutoGenAdapter()
