"""What the adapters of the engine share: everything but which options there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from fuzzresume.adapters.durable import damage
from fuzzresume.adapters.durable.conduct import Conduct
from fuzzresume.adapters.durable.engine import Engine
from fuzzresume.adapters.durable.log import Damaged, Log
from fuzzresume.adapters.durable.policy import Policy, sensible
from fuzzresume.adapters.durable.run import Run, UnknownBranch, head_of
from fuzzresume.contract.commands import TAMPER_KINDS
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities
from fuzzresume.harness.env import Env, Store


class DurableAdapter(ABC):
    """The engine as a target. A subclass says which options there are and what they mean."""

    name: str
    packages: tuple[str, ...] = ("fuzzresume",)
    options: Mapping[str, tuple[str, ...]]

    @abstractmethod
    def conduct(self, options: Mapping[str, str]) -> Conduct:
        """How the engine conducts itself under `options`."""

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """The same under all options; a fork that a policy refuses can still be said."""
        return Capabilities(
            fork="branch address on the wire", addressed=True, trunk=True, schema=True, retry=True, tamper=TAMPER_KINDS
        )

    def valid(self, options: Mapping[str, str]) -> bool:
        """Whether the values go together."""
        return sensible(options)

    def life(self, env: Env) -> Engine:
        """A process that knows nothing but the store."""
        return Engine(env, Policy.of(env.options), self.conduct(env.options))

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """The recorded tasks, with the position as head, by a connection of its own."""
        policy = Policy.of(store.options)
        log = Log(store.folder, read_only=True, unknown_fields=policy.extra_field == "ignore")
        try:
            target = Run.fold(log.read(), store.workload, policy.latest).at(branch)
        except (Damaged, UnknownBranch) as error:
            return Frontier(None, str(error))
        finally:
            log.close()
        return Frontier(()) if target is None else Frontier(tuple(target.done), head=head_of(target))

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the store. Raises Unsupported for a kind that is not in the capabilities, and when nothing is stored."""
        log = Log(store.folder, read_only=True, verify=False)
        try:
            run = Run.fold(log.read(), store.workload, Policy.of(store.options).latest)
        finally:
            log.close()
        damage.tamper(store.folder, run, kind)
