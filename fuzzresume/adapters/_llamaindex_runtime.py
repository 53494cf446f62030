"""LlamaIndex's runtime, with one thing settled: which of several steps that have finished comes first."""

from __future__ import annotations

from typing import Any

from workflows import Workflow
from workflows.plugins.basic import basic_runtime
from workflows.runtime.runtime_decorators import BaseInternalRunAdapterDecorator, BaseRuntimeDecorator


class InOrder(BaseRuntimeDecorator):
    """`basic_runtime`, whose steps in work stand in the order of their names.

    LlamaIndex takes them from a set, so of those that finished at once it takes one by its address in memory. Any order is
    one that it can show itself.
    """

    def __init__(self) -> None:
        super().__init__(basic_runtime)

    def get_internal_adapter(self, workflow: Workflow) -> Any:
        """The adapter of a run, in order."""
        return _InOrder(super().get_internal_adapter(workflow))


class _InOrder(BaseInternalRunAdapterDecorator):
    async def wait_for_next_task(self, running: Any, pending: Any, timeout: float | None = None) -> Any:
        """Wait; whoever stands first in `running` has precedence, and what comes from outside stands last."""
        steps = sorted((task for task in running if hasattr(task, "worker_id")), key=lambda task: task.key)
        others = [task for task in running if not hasattr(task, "worker_id")]
        return await super().wait_for_next_task([*steps, *others], pending, timeout)
