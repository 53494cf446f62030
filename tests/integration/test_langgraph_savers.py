"""LangGraph's savers on request, on the real framework: `AsyncSqliteSaver`, and `PostgresSaver` on a real server."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("langgraph")

from campaigns import campaign
from langgraph_lives import APIS, DEFAULTS, Run, rows
from lives import TRACE, WORKLOAD, inspect, recover, restart, resume, start
from test_sessions import A, play, scenarios

from fuzzresume.adapters.langgraph import ADAPTER
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.env import Crash, Store, Unsupported
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.sessions import MODES, open_session
from fuzzresume.harness.target import BadOption, MissingExtra, StoreUnavailable, Target, parse_target

SAVERS = tuple(ADAPTER.on_request["saver"])
ASYNC = {"saver": "async-sqlite"}
LIMIT = 30.0
"""Seconds after which a process that does not end has hung."""


def target_of(**options: str) -> Target:
    try:
        return Target(ADAPTER, options)
    except MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("saver", "api", "executor"),
    [(saver, *pair) for saver in SAVERS for pair in zip(APIS, ("inline", "queue"), strict=True)],
)
def test_every_death_agrees_at_every_hook(tmp_path: Path, saver: str, api: str, executor: str) -> None:
    target = target_of(saver=saver, api=api, executor=executor)
    can = target.capabilities
    assert can.durable and can.images and can.in_process and can.deterministic
    cases = scenarios(target, tmp_path)
    assert len(cases) > 20
    with Zygotes() as zygotes:
        # A server is slower than a file, and passes the same hooks as `sqlite`: some of them will do.
        for number, (prefix, dies) in enumerate(cases[:: 3 if saver == "postgres" else 1]):
            folders = {mode: tmp_path / f"{mode}-{number}" for mode in MODES}
            seen = {
                mode: play(open_session(target, WORKLOAD, folder, mode, zygotes=zygotes), prefix, dies)
                for mode, folder in folders.items()
            }
            assert seen["forked"][-2][0] == ("crashed", (), None, None, "")
            assert seen["in-process"] == seen["forked"], f"in process, at {dies.crash}"
            assert seen["images"] == seen["forked"], f"from images, at {dies.crash}"


@pytest.mark.parametrize(("api", "executor"), [*itertools.product(APIS, ("inline", "queue"))])
def test_five_awaited_executions_pass_the_same_hooks_and_leave_the_same_rows(
    new_run: Callable[..., Run], api: str, executor: str
) -> None:
    seen = set()
    for _ in range(5):
        run, hooks = new_run(api=api, executor=executor, **ASYNC), []
        for call in (*TRACE, inspect):
            run(call)
            hooks += run.passed
        seen.add((tuple(hooks), tuple(rows(run))))
    assert len(seen) == 1


def test_awaited_and_blocking_calls_store_the_same_checkpoints(new_run: Callable[..., Run]) -> None:
    runs = [new_run(saver=saver) for saver in ("sqlite", "async-sqlite")]
    for run, call in itertools.product(runs, TRACE):
        run(call)
    blocking, awaited = ({row[2] for row in rows(run)} for run in runs)
    assert blocking == awaited


@pytest.mark.parametrize("executor", ADAPTER.options["executor"])
def test_an_awaited_life_leaves_neither_thread_nor_loop(new_run: Callable[..., Run], executor: str) -> None:
    before = threading.active_count()
    for crash in (None, CrashPoint("effect.after:1"), CrashPoint("effect.before:1", by="exception")):
        run = new_run(executor=executor, **ASYNC)
        try:
            run(start, crash)
        except BaseException as death:
            assert crash is not None and type(death).__name__ in ("Crash", "TaskFailure")
        assert threading.active_count() == before + 1
        run.reload()
        assert threading.active_count() == before


@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_a_dead_awaited_life_writes_nothing_while_it_unwinds(new_run: Callable[..., Run], executor: str) -> None:
    """The death comes while records are on their way, in `queue` all of them."""
    run = new_run(executor=executor, durability="async", **ASYNC)
    with pytest.raises(Crash):
        run(start, CrashPoint("effect.after:1"))
    before = rows(run), run.frontier
    for call in (recover, restart, resume("2.1", 1), inspect):
        with pytest.raises(Crash):
            run(call)
    run.reload()
    assert (rows(run), run.frontier) == before
    assert run.fired == [1] and run.finish().kind == "completed"


def test_a_slow_thread_loses_what_a_quick_one_has_written(new_run: Callable[..., Run]) -> None:
    lost = {}
    for executor in ("inline", "queue"):
        run = new_run(Workload.linear(3, {}), executor=executor, durability="async", **ASYNC)
        run.dies(start, CrashPoint("effect.after:2"))
        lost[executor] = run.frontier.head is None
    assert lost == {"inline": False, "queue": True}


def test_interleaved_awaited_runs_do_not_share_a_clock(new_run: Callable[..., Run]) -> None:
    alone = [new_run(api=api, **ASYNC) for api in APIS]
    mixed = [new_run(api=api, **ASYNC) for api in APIS]
    for run, call in itertools.product(alone, TRACE):
        run(call)
    for call, run in itertools.product(TRACE, mixed):
        run(call)
    assert [rows(run) for run in mixed] == [rows(run) for run in alone]


@pytest.mark.parametrize("saver", SAVERS)
def test_a_campaign_runs_and_finds_the_first_thing_that_it_finds_over_sqlite(saver: str) -> None:
    target_of(saver=saver)
    for pinned in ("sqlite", saver):
        report, _ = campaign("langgraph", {"saver": pinned}, seed=1, runs=2)
        assert not report.troubles
        assert ["start, task 1 returns an invalid update"] in [finding.words for finding in report.findings]


def test_they_are_used_on_request_only() -> None:
    assert not set(SAVERS) & set(ADAPTER.options["saver"])
    assert {"aiosqlite"} < set(target_of(**ASYNC).packages)
    with pytest.raises(BadOption, match="it is one of sqlite, memory, async-sqlite, postgres"):
        Target(ADAPTER, {"saver": "oracle"})
    assert not ADAPTER.valid(DEFAULTS | {"saver": "postgres", "executor": "threads"})


def test_without_its_extra_a_saver_says_how_to_get_it(without_package: Callable[[str], None]) -> None:
    without_package("psycopg")
    with pytest.raises(MissingExtra, match=r"saver=postgres needs psycopg: pip install 'fuzzresume\[langgraph,postgres\]'"):
        parse_target("langgraph", {"saver": "postgres"})
    assert parse_target("langgraph").options["saver"] == "sqlite"


def test_a_store_is_a_schema_and_an_emptied_one_is_used_again(tmp_path: Path) -> None:
    target = target_of(saver="postgres")
    keeper = target.capabilities.keeper
    with open_session(target, WORKLOAD, tmp_path / "run") as session:
        session.execute(Command("start"))
        store = session.store
        taken, seen = keeper.take(store.folder), ADAPTER.frontier(store, None)
    assert seen.done == (1,)
    other = Store(tmp_path / "other", store.options, WORKLOAD)
    keeper.make(other.folder)
    assert ADAPTER.frontier(other, None) == Frontier(())
    keeper.fill(other.folder, taken)
    assert ADAPTER.frontier(other, None) == seen and keeper.take(other.folder).digest == taken.digest
    words = (other.folder / "postgres.json").read_text()
    (other.folder / "postgres.json").unlink()
    other.folder.rmdir()
    folders = [tmp_path / f"again-{number}" for number in range(3)]
    for folder in folders:
        keeper.make(folder)
        assert ADAPTER.frontier(Store(folder, store.options, WORKLOAD), None) == Frontier(())
    assert words in [(folder / "postgres.json").read_text() for folder in folders]
    assert ADAPTER.frontier(store, None) == seen


@pytest.mark.parametrize("api", APIS)
def test_damage_in_postgres_is_what_its_kind_says(tmp_path: Path, api: str) -> None:
    target = target_of(saver="postgres", api=api)
    kinds = target.capabilities.tamper
    assert kinds == {"graph": ("truncated", "dropped-field", "wrong-type"), "functional": ("truncated",)}[api]
    with open_session(target, WORKLOAD, tmp_path / "new") as session, pytest.raises(Unsupported):
        session.execute(Command("tamper", kind="truncated"))
    for kind in kinds:
        with open_session(target, WORKLOAD, tmp_path / kind) as session:
            session.execute(Command("start"))
            session.execute(Command("resume", A))
            before = target.capabilities.keeper.take(session.store.folder)
            after = session.execute(Command("tamper", kind=kind)).after
            changed = target.capabilities.keeper.take(session.store.folder)
            assert changed != before
            assert (after.done is None) == (kind == "truncated")
            if kind == "truncated":
                assert session.execute(Command("recover")).outcome.kind == "refused"


CONTROLLER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
import json, sys
from fuzzresume.adapters._postgres import started
server = started()
print(json.dumps([server.host, server._guard.pid]), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, None])
def test_the_server_goes_with_its_controller(how: signal.Signals | None) -> None:
    target_of(saver="postgres")
    command = [sys.executable, "-c", CONTROLLER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None and owner.stdin is not None
        host, pid = json.loads(owner.stdout.readline())
        assert (Path(host) / ".s.PGSQL.5432").exists()
        guard = os.pidfd_open(pid)
        if how is None:
            owner.stdin.close()
        else:
            owner.send_signal(how)
        assert select.select([guard], [], [], LIMIT)[0]
        os.close(guard)
        assert not Path(host).exists()


def test_a_server_that_cannot_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target_of(saver="postgres")
    from fuzzresume.adapters import _postgres

    home = tmp_path / "server"
    for part in ("bin", "lib", "share"):
        (home / part).mkdir(parents=True)
    (home / "bin" / "initdb").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    (home / "bin" / "initdb").chmod(0o755)
    monkeypatch.setattr(_postgres, "_home", lambda: home)
    with pytest.raises(StoreUnavailable, match="PostgreSQL could not be started: no room"):
        _postgres.Server()


def test_a_lost_server_is_an_error_and_no_observation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of(saver="postgres")
    from fuzzresume.adapters import _postgres

    monkeypatch.setattr(_postgres, "_running", [])
    with open_session(target, WORKLOAD, tmp_path / "run") as session:
        session.execute(Command("start"))
        _postgres.started().close()
        with pytest.raises(StoreUnavailable, match="does not answer"):
            session.execute(Command("resume", A))
