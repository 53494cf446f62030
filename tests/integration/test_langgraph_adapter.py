"""The LangGraph adapter on the real framework: calls, addresses, forks, restarts. What LangGraph gets wrong is not asserted
here; a case stands where both a right and a wrong engine would have to behave the same way."""

from __future__ import annotations

import copy
import itertools
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langgraph_lives import APIS, COMBINATIONS, Run
from lives import TRACE, WHOLE, asked, fork, inspect, recover, restart, resume, start, texts, token

from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._langgraph_store import MEMORY_KEY
from fuzzresume.adapters.langgraph import ADAPTER
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.env import TaskFailure


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(options.values()))
def test_park_resume_complete(new_run: Callable[..., Run], options: dict[str, str]) -> None:
    run = new_run(**options)
    assert asked(run(start)) == ["2.1"]
    assert run.frontier.done == (1,)
    run.reload()
    assert asked(run(TRACE[1])) == ["2.2"]
    done = run(TRACE[2])
    assert (done.kind, texts(done)) == ("completed", WHOLE)
    assert run.fired == [1, 2, 3]
    reads = [[mark.text for mark in entry.reads] for entry in run.entries if entry.kind == "effect"]
    assert reads == [[], ["1"], list(WHOLE[:2])]
    before = run.frontier
    assert before.done == (1, 2, 3)
    seen = run(inspect)
    assert (seen.kind, texts(seen)) == ("inert", WHOLE)
    assert run.frontier == before and run.fired == [1, 2, 3]
    assert threading.active_count() == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("saver", ADAPTER.options["saver"])
def test_gates_of_one_question_are_served_their_own_answers(new_run: Callable[..., Run], api: str, saver: str) -> None:
    run = new_run(Workload.linear(3, {1: 1, 3: 1}), api=api, saver=saver)
    assert asked(run(start)) == ["1.1"]
    assert asked(run(resume("1.1", 1))) == ["3.1"]
    assert run.frontier.done == (1, 2)
    assert texts(run(resume("3.1", 2))) == ("1:1.1#1=yes", "2", "3:3.1#2=yes")


@pytest.mark.parametrize("api", APIS)
def test_an_addressed_resume_is_keyed_by_the_interrupt(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(api=api)
    address = run(start).asked[0].address
    assert address is not None
    checkpoint, _, interrupt = address.partition("/")
    assert checkpoint == run.frontier.head and len(interrupt) == 32
    assert asked(run(resume("2.1", 1, address))) == ["2.2"]


@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_an_answer_is_keyed_only_when_the_framework_demands_it(new_run: Callable[..., Run], executor: str) -> None:
    """With `durability=exit` the functional API keeps the interrupts of the epoch before and then wants to know which."""
    run = new_run(api="functional", durability="exit", executor=executor)
    run(start)
    assert asked(run(restart)) == ["2.1"]
    run.reload()
    with pytest.raises(RuntimeError, match="interrupt id"):
        run(resume("2.2", 1))
    assert run.fired == [1, 1] and run.frontier.done == (1,)
    assert asked(run(resume("2.1", 2))) == ["2.2"]
    done = run(resume("2.2", 3))
    assert (done.kind, texts(done)) == ("completed", ("1", "2:2.1#2=yes,2.2#3=yes", "3"))


def test_a_fork_is_keyed_too_when_the_framework_demands_it(new_run: Callable[..., Run]) -> None:
    run = new_run(Workload.linear(3, {2: 1}), api="functional", durability="exit")
    run(start)
    address = run(restart).asked[0].address
    assert address is not None
    assert run(fork("2.1", 1, address)).kind == "completed"
    assert run.fired[-2:] == [2, 3]


@pytest.mark.parametrize(("api", "durability"), [*itertools.product(APIS, ADAPTER.options["durability"])])
def test_nothing_but_the_answer_is_on_the_wire_unless_demanded(
    new_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, api: str, durability: str
) -> None:
    run, sent = new_run(api=api, durability=durability), []
    run(start)
    invoke = run._life._caller._app.invoke

    def recording(payload: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(payload)
        return invoke(payload, *args, **kwargs)

    monkeypatch.setattr(run._life._caller._app, "invoke", recording)
    run(resume("2.1", 1))
    assert [command.resume for command in sent] == [token("2.1", 1)]


@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_not_sent_again_for_another_runtime_error(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(api=api)
    run(start)
    run(resume("2.1", 1))
    with pytest.raises(TaskFailure):
        run(resume("2.2", 2), CrashPoint("effect.after:2", by="exception"))
    assert run.fired == [1, 2]


@pytest.mark.parametrize("executor", ["inline", "queue"])
@pytest.mark.parametrize(("api", "saver"), [*itertools.product(APIS, ADAPTER.options["saver"])])
def test_checkpoint_ids_grow_across_lives(new_run: Callable[..., Run], api: str, saver: str, executor: str) -> None:
    """No identifier is drawn twice, also after a death that left a write without its checkpoint."""
    heads: list[list[str]] = []
    for _ in range(2):
        run, heads_of_run = new_run(api=api, saver=saver, executor=executor), []
        for call, hook in (
            (start, None),
            (restart, "put_writes.after"),
            (recover, None),
            (restart, "put.before"),
            (restart, None),
            (resume("2.1", 1), None),
            (resume("2.2", 2), None),
            (restart, None),
        ):
            if hook is None:
                run(call)
                run.reload()
            else:
                run.dies(call, CrashPoint(hook))
            head = run.frontier.head
            assert head is not None
            heads_of_run.append(head)
        heads.append(heads_of_run)
    assert heads[0] == heads[1]
    assert heads[0] == sorted(heads[0]) and len(set(heads[0])) >= 4


@pytest.mark.parametrize("api", APIS)
def test_a_fork_continues_from_the_checkpoint_and_moves_the_head(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(Workload.linear(3, {2: 1}), api=api)
    address = run(start).asked[0].address
    assert address is not None
    run(resume("2.1", 1))
    trunk = run.frontier.head
    forked = run(fork("2.1", 2, address))
    assert forked.kind == "completed"
    assert run.frontier.done == (1, 2, 3)
    assert run.frontier.head is not None and trunk is not None and run.frontier.head > trunk
    assert ADAPTER.frontier(run.env, trunk).done == (1, 2, 3)


@pytest.mark.parametrize(("api", "saver"), [*itertools.product(APIS, ADAPTER.options["saver"])])
@pytest.mark.parametrize("durability", ADAPTER.options["durability"])
def test_a_restart_is_a_new_epoch(new_run: Callable[..., Run], api: str, saver: str, durability: str) -> None:
    """Marks of earlier epochs stay in the state, and never count in the present frontier."""
    run = new_run(Workload.linear(3, {1: 1, 3: 1}), api=api, saver=saver, durability=durability)
    run(start)
    run(resume("1.1", 1))
    run(resume("3.1", 2))
    assert run.frontier.done == (1, 2, 3)
    assert asked(run(restart)) == ["1.1"]
    assert run.frontier.done == ()
    run.reload()
    assert asked(run(resume("1.1", 3))) == ["3.1"]
    assert run.frontier.done == (1, 2)
    done = run(resume("3.1", 4))
    assert texts(done) == ("1:1.1#1=yes", "2", "3:3.1#2=yes", "1:1.1#3=yes", "2", "3:3.1#4=yes")
    assert run.frontier.done == (1, 2, 3)


def test_a_copy_of_a_memory_store_is_a_store_of_its_own(new_run: Callable[..., Run]) -> None:
    run = new_run(saver="memory")
    run(start)
    contents = run.env.memory[MEMORY_KEY]
    copied = copy.deepcopy(contents)
    assert copied == contents
    for mine, its in ((copied.storage, contents.storage), (copied.writes, contents.writes)):
        assert mine.default_factory is its.default_factory
        assert all(mine[key] is not its[key] for key in its)
    run(TRACE[1])
    run(TRACE[2])
    assert len(copied.storage["run"][""]) < len(contents.storage["run"][""])
    assert len(copied.writes) < len(contents.writes) and len(copied.blobs) < len(contents.blobs)


def test_a_clock_draws_one_sequence_a_call_however_long() -> None:
    clock = Clock(3)
    first = clock.uuid6(None)
    for _ in range(2):
        clock.catch_up(str(first))
        chance = random.Random(f"3:{0x1F0_0000_0000_0001}")
        assert [clock.fraction() for _ in range(40)] == [chance.random() for _ in range(40)]
    assert clock.uuid6(None) > first
