"""LlamaIndex Workflows: `Workflow`, `Context.to_dict` and `Context.from_dict`, over a store that the caller keeps.

The framework writes nothing. Its documentation has the caller read `handler.stream_events(expose_internal=True)` and save
`json.dumps(handler.ctx.to_dict())` whenever a step has finished; a later process gives that to `Context.from_dict` and the
context to `workflow.run(ctx=…)`. Wire calls: start and restart `workflow.run(ctx=…, start_event=…)`, with the context of the
run if there is one; recover `workflow.run(ctx=Context.from_dict(…))`; resume `handler.ctx.send_event(answer)` on the handler
at hand, or else on the one of a recovery; inspect `to_dict`, `running_steps` and the state.

This module and the two that read stores do so without the framework; it is imported when a life is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING

from fuzzresume.adapters import _llamaindex_journal, _llamaindex_store
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.harness.env import Env, Store

if TYPE_CHECKING:
    from fuzzresume.adapters._llamaindex_life import LlamaIndexLife

_DURABLE = "developers.llamaindex.ai/python/llamaagents/workflows/durable_workflows"
_WAIT = "docstring of Context.wait_for_event; developers.llamaindex.ai/python/llamaagents/workflows/human_in_the_loop"
_VERSION = "llama-index-workflows 2.22"

_PARK = Documented(
    "LateRecord",
    "a snapshot that is taken only when the run stops does not survive a crash during it: what ran since is lost",
    _DURABLE,
    _VERSION,
)

_LATE = Documented(
    "LateRecord",
    "a snapshot holds the state of the moment in which it is taken, and a crash loses what ran since the last one",
    _DURABLE,
    _VERSION,
)

_STEP = Documented(
    "LateRecord",
    "a step in work is rewound and runs again from its top, so all tasks of a step are in doubt until it has finished",
    _DURABLE,
    _VERSION,
)

_REPLAYED = tuple(
    Documented(
        switch,
        "whatever stands before `wait_for_event` in its step runs again with each answer, and has to be safe to repeat",
        _WAIT,
        _VERSION,
    )
    for switch in ("Replay", "PrefixReplay", "ReexecLast")
)


class LlamaIndexAdapter:
    """The target; see the module's docstring for the calls.

    Options: `idiom` is how a gate asks: `events` by a step that returns `InputRequiredEvent` and one step more for each
    answer, which is a class of its own (recommended by the documentation); `wait` by `wait_for_event` with `requirements`
    that name the question; `wait-bare` by `wait_for_event` as in the documentation's example, where an answer names none;
    `one-step` has all tasks in a single step that waits. `store` is what the caller keeps: the newest `snapshot`, or the
    `journal` of ticks (2.26 and newer). `policy` is when it saves a snapshot: after each finished `step`, or when the run
    has come to a `park` or its end. `save` is how: `sync` at once; `slow` by a caller who comes to it only
    when the next step has written to the state; `late` in a store that answers when nothing else is left to run. `input` is
    `declared`, a class with a field that has to be given, or `plain`, a `StartEvent` that asks for nothing.
    """

    name = "llamaindex"
    packages: tuple[str, ...] = ("llama-index-workflows",)
    options: Mapping[str, tuple[str, ...]] = {
        "idiom": ("events", "wait"),
        "store": ("snapshot", "journal"),
        "policy": ("step", "park"),
        "save": ("sync", "slow", "late"),
        "input": ("declared",),
    }
    on_request: Mapping[str, Mapping[str, OnRequest]] = {
        "idiom": {"wait-bare": OnRequest(), "one-step": OnRequest()},
        "input": {"plain": OnRequest()},
    }

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`.

        A question has no address but its name in the answer. The documentation knows no fork: to restore an older snapshot
        is to go on from it. A failed run's context is not running any more, so the process that saw the exception has no
        call to try again.
        """
        late = [_PARK] if options["policy"] == "park" else [_LATE] if options["save"] != "sync" else []
        one = [_STEP, *_REPLAYED] if options["idiom"] == "one-step" else []
        return Capabilities(
            names_question=options["idiom"] != "wait-bare",
            schema=True,
            tamper=_kept(options).TAMPER_KINDS,
            other_schedule={"save": "late" if options["save"] == "sync" else "sync"},
            slow={} if options["save"] == "sync" else {"save": "sync"},
            records=not late and not one,
            documented=(*late, *one),
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """Older versions have no journal, and a journal has a record for each tick, whatever the policy."""
        return options["store"] == "snapshot" or (options["policy"] == "step" and _journals())

    def life(self, env: Env) -> LlamaIndexLife:
        """A workflow of its own on an event loop of its own; the store is read when a call needs it."""
        from fuzzresume.adapters._llamaindex_life import LlamaIndexLife

        return LlamaIndexLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead store."""
        found: Frontier = _kept(store.options).frontier(store)
        return found

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the newest record. Raises Unsupported for a kind not in the capabilities, and when there is none."""
        _kept(store.options).tamper(store, kind)


def _kept(options: Mapping[str, str]) -> ModuleType:
    return _llamaindex_journal if options["store"] == "journal" else _llamaindex_store


@cache
def _journals() -> bool:
    """Whether the installed version has `BasicRuntime.journal`."""
    numbers = metadata.version("llama-index-workflows").split(".")
    return tuple(map(int, numbers[:2])) >= (2, 26)


ADAPTER = LlamaIndexAdapter()
