"""LangGraph's `PostgresSaver` with a crash point before and after every call that reads or writes a record."""

from __future__ import annotations

from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

from fuzzresume.adapters._langgraph_postgres import PostgresReader, place
from fuzzresume.adapters._langgraph_savers import Hooked
from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._postgres import connect
from fuzzresume.harness.env import Env


class HookedPostgresSaver(Hooked, PostgresSaver):
    """A `PostgresSaver` on the run's schema, with a connection of its own, set up as LangGraph says."""

    def __init__(self, env: Env, clock: Clock) -> None:
        at = place(env.folder)
        self._own = connect(at.host, options=f"-c search_path={at.schema}", prepare_threshold=0, row_factory=dict_row)
        super().__init__(self._own)
        self._reader = PostgresReader(self._own, at.schema)
        self.env, self.clock = env, clock
        self.setup()

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored."""
        return self._reader.greatest()

    def close(self) -> None:
        """Close the connection."""
        self._own.close()
