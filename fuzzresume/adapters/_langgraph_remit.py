"""LangGraph's savers under REMIT (`remit.wrap`), with crash points around the records that REMIT itself writes.

REMIT drops recorded answers from what a call with a checkpoint id reads, shows every checkpoint to a validator before it
is stored, and with its gate takes a claim, one row for each parked checkpoint, whenever a call reads that the run is
parked. The claims lie in the run's database, so whatever copies or empties that has them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import remit
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from fuzzresume.adapters._langgraph_savers import HookedMemorySaver, HookedSqliteSaver
from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.harness.env import Env

_Memory: Any = remit.saver_class(InMemorySaver)
_Sqlite: Any = remit.saver_class(SqliteSaver)


class RemitMemorySaver(HookedMemorySaver, _Memory):  # type: ignore[misc]
    """`remit.wrap(InMemorySaver)`. REMIT's gate needs a database and refuses this saver."""


class RemitSqliteSaver(HookedSqliteSaver, _Sqlite):  # type: ignore[misc]
    """`remit.wrap(SqliteSaver, connection)`; a claim, and the table of the claims, are records like any other.

    No hook lies between a claim's INSERT and its commit: a death there leaves what a death before the INSERT leaves, and a
    racer that stood there would hold the database's lock. For the saver's own lock the table is made in a step of its own.
    """

    def _remit_take_claim(self, thread: str, ckpt: str) -> bool:
        if not self._remit_claims_ready:
            self.env.hook("claims_table.before")
            with self.lock:
                self._remit_claims_ddl(self.conn, False)
            self.env.hook("claims_table.after")
        self.env.hook("claim.before")
        won: bool = super()._remit_take_claim(thread, ckpt)
        self.env.hook("claim.after")
        return won


def wrapped(env: Env, clock: Clock) -> RemitMemorySaver | RemitSqliteSaver:
    """The saver of `env`'s options, wrapped as `wrap` says; where a schema is declared, the validator holds it."""
    validator = valid_state if env.options["api"] != "functional" else None
    if env.options["saver"] == "memory":
        return RemitMemorySaver(env, clock, remit_validator=validator)
    gate = env.options["wrap"] == "remit-gate"
    return RemitSqliteSaver(env, clock, remit_validator=validator, remit_cross_process_gate=gate)


def valid_state(checkpoint: Mapping[str, Any]) -> None:
    """REMIT's validator: the state has the declared fields with their types, unless it still waits for its first input.

    Raises TypeError for a field that is missing or of another type.
    """
    state = checkpoint["channel_values"]
    if "__start__" in state:
        return
    marks, note = state.get("marks"), state.get("note")
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise TypeError(f"marks is {marks!r}, no list of strings")
    if not isinstance(note, str):
        raise TypeError(f"note is {note!r}, no string")
