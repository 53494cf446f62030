"""The positive control: the in-tree durable engine, which keeps the contract under every legal choice it offers."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.adapters.durable.alone import Alone
from fuzzresume.adapters.durable.engine import Engine
from fuzzresume.adapters.durable.faults import Faults
from fuzzresume.adapters.durable.log import Damaged, Log
from fuzzresume.adapters.durable.policy import OPTIONS, Policy, sensible
from fuzzresume.adapters.durable.run import Run, UnknownBranch, head_of
from fuzzresume.adapters.durable.tampering import tamper
from fuzzresume.contract.commands import TAMPER_KINDS
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.env import Env, Store


class DurableAdapter:
    """The engine as a target; `mutant` is the same with a fault."""

    name = "reference"
    packages: tuple[str, ...] = ("fuzzresume",)
    options: Mapping[str, tuple[str, ...]] = OPTIONS

    def faults(self, options: Mapping[str, str]) -> Faults:
        """The planted deviation: none."""
        return Faults()

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """Everything that the contract has a word for."""
        return Capabilities(
            fork="the question's address, which names its branch",
            addressed=True,
            trunk=True,
            schema=True,
            retry=True,
            tamper=TAMPER_KINDS,
            units=("threads",),
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """Whether the values go together."""
        return sensible(options)

    def life(self, env: Env) -> Alone:
        """One process's engine."""
        return Alone(Engine(env, self.faults(env.options)))

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """The recorded tasks of the branch, in store order."""
        log = Log(store.folder)
        try:
            run = Run.fold(log.read(), store.workload, Policy.of(store.options).latest)
            found = run.at(branch)
        except (Damaged, UnknownBranch) as error:
            return Frontier(None, str(error))
        finally:
            log.close()
        return Frontier(()) if found is None else Frontier(tuple(found.done), head=head_of(found))

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the file. Raises Unsupported when there is none yet."""
        tamper(store, kind)


ADAPTER = DurableAdapter()
