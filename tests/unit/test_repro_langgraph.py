"""Scripts for LangGraph: what they hold, what they leave out, and what cannot be written."""

from dataclasses import replace

import pytest
from repro_scripts import require_sound, shipped

from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.state import Expect
from fuzzresume.contract.workload import Question, Token
from fuzzresume.repro.langgraph_needs import Needs
from fuzzresume.repro.plan import NoScript, Plan
from fuzzresume.repro.script import script

TRACES = shipped("langgraph")

SAVER_POINTS = [f"{call}.{side}" for call in ("get_tuple", "put", "put_writes") for side in ("before", "after")]
GATE_POINTS = [f"{row}.{side}" for row in ("claims_table", "claim") for side in ("before", "after")]


def trace(identity, **options):
    """A shipped trace, the first of that id, under other options where some are given."""
    kept = next(trace for trace in TRACES.values() if trace.found.id == identity)
    return replace(kept, options={**kept.options, **options})


def changed(trace, number, **values):
    """The trace with other values in its command `number`, counted from 1."""
    commands = [replace(sent, **values) if n == number else sent for n, sent in enumerate(trace.commands, 1)]
    return replace(trace, commands=tuple(commands))


def with_inspection(trace):
    """The trace with a look at the run before its last command."""
    look = (Command("inspect"), trace.seen[0]._replace(expect=Expect("inert"), shown=frozenset()))
    commands, seen = ((*kept[:-1], more, kept[-1]) for kept, more in zip((trace.commands, trace.seen), look, strict=True))
    return replace(trace, commands=commands, seen=seen)


def test_every_shipped_trace_has_a_sound_script(tmp_path):
    assert len(require_sound(TRACES, tmp_path)) >= 28


def test_a_script_has_only_what_its_trace_needs():
    plain = script(trace("CO-f8f04b")).partition('"""')[2]
    for word in ("class Saver", "ThreadPool", "remember", "def recorded", "checkpoint_id", "poisoned", "def deliver"):
        assert word not in plain, word
    assert 'invoke(run, Command(resume="a"))' in plain and 'durability="sync"' in plain


def test_each_way_to_declare_and_to_fork_is_written(tmp_path):
    kinds = [("graph", "typeddict"), ("graph", "pydantic"), ("routed", "typeddict"), ("functional", "typeddict")]
    traces = {
        f"{api}-{schema}-{form}": trace("FD-2dc830", api=api, schema=schema, fork=form)
        for api, schema in kinds
        for form in ("one-call", "two-call")
    }
    sources = require_sound(traces, tmp_path)
    assert "class State(BaseModel):" in sources["graph-pydantic-one-call"]
    assert 'graph.add_conditional_edges("task_3", after_3, [END])' in sources["routed-typeddict-one-call"]
    assert "@entrypoint(checkpointer=open_saver())" in sources["functional-typeddict-two-call"]
    for name, source in sources.items():
        two_calls = name.endswith("two-call")
        assert ('fork(run, "2.1", "b")' in source) == two_calls, name
        assert ('Command(resume="b"), checkpoint=recall("2.1"))' in source) != two_calls, name


def test_an_answer_can_carry_the_id_of_its_interrupt(tmp_path):
    addressed = changed(trace("FD-2dc830"), 2, at="question")
    source = require_sound({"addressed": addressed}, tmp_path)["addressed"]
    assert 'Command(resume={recall("id of 2.1"): "a"})' in source
    assert 'remember(f"id of {asked.value}", asked.id)' in source
    needs = Needs(Plan(addressed))
    assert (needs.noted, needs.addresses) == ({1}, {"checkpoint", "id"})


def test_a_second_fork_goes_back_to_the_trunk_and_not_to_the_first_fork():
    kept = trace("FD-c1a469")
    again = replace(
        kept,
        commands=(*kept.commands[:2], Command("fork", Token(Question(2, 1), 2)), Command("fork", Token(Question(2, 2), 3))),
        seen=(*kept.seen[:2], kept.seen[1], kept.seen[2]),
    )
    needs = Needs(Plan(again))
    assert needs.returned == ((1, Question(2, 1), "checkpoint"), (2, Question(2, 2), "checkpoint"))


def test_an_answer_none_is_named_by_the_call_that_delivers_it():
    source = script(trace("langgraph-7034"))
    assert 'invoke(run, Command(resume=None), none="a")' in source and 'answer_1 = named(interrupt("1.1"))' in source


def test_every_point_of_the_saver_is_written_where_it_is_named(tmp_path):
    killed = trace("LV-2af2dd", wrap="none")
    traces = {point: changed(killed, 2, crash=CrashPoint(point)) for point in SAVER_POINTS}
    gated = trace("LV-2af2dd")
    traces |= {point: changed(gated, 2, crash=CrashPoint(point)) for point in GATE_POINTS}
    for point, source in require_sound(traces, tmp_path).items():
        assert source.count("        reach(") == 1 and f'reach("{point}")' in source.replace("    ", ""), point


def test_the_pool_has_an_order_only_where_a_run_is_stopped_on_its_way():
    order = {name: "ContextThreadPoolExecutor.submit = submit" in script(kept) for name, kept in TRACES.items()}
    stopped = {
        name for name, kept in TRACES.items() if any(c.turns or (c.crash and c.crash.by == "kill") for c in kept.commands)
    }
    assert {name for name, has in order.items() if has} == stopped
    assert 'if "put_writes" in names or "_checkpointer_put_after_previous" in names:' in script(trace("EO-0f17ab"))
    assert 'if "put_writes" in names:' in script(trace("langgraph-8039"))


def test_every_damage_is_written(tmp_path):
    kinds = ("truncated", "empty", "dropped-field", "wrong-type")
    traces = {kind: changed(trace("CV-dc6f02"), 2, kind=kind) for kind in kinds}
    sources = require_sound(traces, tmp_path)
    assert all('FOLDER / "store.sqlite")) as store' in sources[kind] for kind in kinds if kind != "empty")
    assert 'write_bytes(b"")' in sources["empty"]


def test_remit_is_wrapped_as_its_documentation_says(tmp_path):
    traces = {wrap: with_inspection(trace("FD-6beca6", wrap=wrap)) for wrap in ("remit", "remit-gate")}
    sources = require_sound(traces, tmp_path)
    assert "return remit.wrap(SqliteSaver, store, validator=valid)" in sources["remit"]
    assert "validator=valid, cross_process_gate=True)" in sources["remit-gate"]
    assert "run.get_state(READING)" in sources["remit-gate"] and "READING" not in sources["remit"]


def test_what_is_left_of_an_earlier_input_is_told_apart():
    source = script(trace("RS-5b8012"))
    assert "def marks_before_input(saver, found):" in source
    assert source.count("lambda run: deliver(run, ") == 1 and 'deliver(run, "2.1", "b")' in source


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (trace("FD-2dc830", saver="postgres"), "needs a server"),
        (trace("FD-2dc830", saver="async-sqlite"), "event loop"),
        (trace("RS-5b8012", saver="memory"), "ends with its process"),
        (trace("EO-604a57", saver="memory"), "ends with its process"),
    ],
)
def test_what_cannot_be_written_says_why(kept, why):
    with pytest.raises(NoScript, match=why):
        script(kept)


def test_memory_is_enough_where_one_process_is():
    assert "return InMemorySaver()" in script(trace("FD-2dc830", saver="memory"))


def test_who_was_asked_in_a_race_is_not_guessed():
    race = trace("CO-24b0a7")
    racing = replace(race.commands[1], turns=(Turn(0),))
    asked = replace(
        race,
        commands=(race.commands[0], racing, Command("fork", Token(Question(3, 1), 3))),
        seen=(*race.seen, race.seen[0]),
        workload=replace(race.workload, tasks=(*race.workload.tasks[:2], replace(race.workload.tasks[2], questions=1))),
    )
    with pytest.raises(NoScript, match=r"question 3\.1 was asked in a race"):
        list(Needs(Plan(asked)).noted)
