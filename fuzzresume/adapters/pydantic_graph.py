"""pydantic-graph 1.x: a `Graph` of nodes over `FileStatePersistence`, in the three ways to resume that it has.

Wire calls: start and restart `iter(first node, state=…, persistence=…)`; recover `iter_from_persistence(persistence)`; both
then call `run.next()` until the next node is a question or the end. Resume, by the option `recipe`:

- `deps`: `iter_from_persistence(…, deps=answer)`, and the question node hands the answer on.
- `node`: `iter_from_persistence`, then `run.next(the node that takes the answer)`.
- `docs`: the script of the documentation's human-in-the-loop example. `load_next`, and where that restores a node, `iter`
  from the node that takes the answer; where it restores none, the graph begins. Called without an answer, the script is
  start and restart.

Inspect is `load_all`. There is no fork, and no address: what is restored is the first node that has not run.

This module and `_pydantic_graph_store` read stores without the framework, which is imported when a life is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING

from fuzzresume.adapters import _pydantic_graph_store
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.harness.env import Env, Store

if TYPE_CHECKING:
    from fuzzresume.adapters._pydantic_graph_life import PydanticGraphLife

_GONE = "pydantic-graph 2 removed state persistence, so there is nothing to resume"

_ONE_FILE = Documented(
    "RestartMix",
    "each run should have a file of its own; only the steps of one run share a file",
    "docstring of pydantic_graph.persistence.file.FileStatePersistence.json_file",
    "pydantic-graph 1.107",
)


class PydanticGraphAdapter:
    """The target; see the module's docstring for the calls.

    Options: `recipe` is the way to resume. `restart` is where an input goes that is sent again: to a `new-file`, as the
    documentation has it, or, on request, to the `same-file`, which it says one should not do. `lock` is what a life does
    that finds the file's lock held: give up `at-once`, which is what waiting comes to, or after pydantic-graph's own second
    (`stock`), on request, for that second is dear.
    """

    name = "pydantic-graph"
    packages: tuple[str, ...] = ("pydantic-graph",)
    options: Mapping[str, tuple[str, ...]] = {
        "recipe": ("deps", "node", "docs"),
        "restart": ("new-file",),
        "lock": ("at-once",),
    }
    on_request: Mapping[str, Mapping[str, OnRequest]] = {
        "restart": {"same-file": OnRequest()},
        "lock": {"stock": OnRequest()},
    }

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`.

        An answer goes to whatever question is restored; the call names none. State persistence promises a snapshot before
        and after each node (documentation, *State Persistence*), which is a record per task.

        Unwinding deletes the lock file, which SIGKILL leaves; but a dead life's file operations are not done, so that an
        exception is a faithful death all the same. The lock file comes and goes, so what is durable does not only grow.
        """
        if int(metadata.version("pydantic-graph").partition(".")[0]) >= 2:
            return Capabilities(absent=_GONE)
        return Capabilities(
            names_question=False,
            monotone=False,
            schema=True,
            retry=True,
            tamper=_pydantic_graph_store.TAMPER,
            documented=(_ONE_FILE,) if options["restart"] == "same-file" else (),
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """Every combination makes sense."""
        return True

    def life(self, env: Env) -> PydanticGraphLife:
        """Build one process's view of the run; nothing is read but the number of snapshots."""
        from fuzzresume.adapters._pydantic_graph_life import PydanticGraphLife

        return PydanticGraphLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead store; there are no branches."""
        return _pydantic_graph_store.frontier(store)

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the file. Raises Unsupported for a kind not in the capabilities, and when nothing is stored."""
        _pydantic_graph_store.tamper(store, kind)


ADAPTER = PydanticGraphAdapter()
