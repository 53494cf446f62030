"""The LlamaIndex adapter on the real framework: calls, records, deaths, damage. What LlamaIndex gets wrong is asserted only
at the end, by name; elsewhere a case stands where a right and a wrong engine would have to behave the same way."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

pytest.importorskip("workflows")

from campaigns import campaign
from llamaindex_lives import (
    GATE,
    INSPECT,
    RECOVER,
    RELOAD,
    RESTART,
    START,
    WHOLE,
    asked,
    fired,
    killed,
    resume,
    run,
    texts,
)

from fuzzresume.adapters import _llamaindex_journal as journal
from fuzzresume.adapters import llamaindex
from fuzzresume.adapters._llamaindex_programs import Shape
from fuzzresume.adapters._llamaindex_store import path_of
from fuzzresume.adapters.llamaindex import ADAPTER
from fuzzresume.campaign.findings import diagnose
from fuzzresume.campaign.sweep.compare import differences
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_run import workspace
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Crash, Env, Store, Unsupported
from fuzzresume.harness.ledger import MemoryLedger
from fuzzresume.harness.sessions import MODES
from fuzzresume.harness.target import parse_target

DEFAULTS = {name: values[0] for name, values in ADAPTER.options.items()}
IDIOMS = ("events", "wait", "wait-bare")
PINNED = pytest.mark.skipif(
    tuple(parse_target("llamaindex").packages.values()) != ("2.22.2",), reason="another version than the pinned one"
)


@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("policy", ADAPTER.options["policy"])
@pytest.mark.parametrize("save", ADAPTER.options["save"])
def test_park_reload_resume_complete(idiom: str, policy: str, save: str) -> None:
    with run(idiom=idiom, policy=policy, save=save) as session:
        started = session.execute(START)
        assert asked(started) == ["2.1"] and started.outcome.announced
        assert (fired(started), started.after.done) == (["1"], (1,))
        session.execute(RELOAD)
        again = session.execute(RECOVER)
        assert asked(again) == ["2.1"] and not again.outcome.announced and not again.effects
        session.execute(RELOAD)
        done = session.execute(resume("2.1", 1))
        assert (done.outcome.kind, texts(done), fired(done)) == ("completed", WHOLE, ["2:2.1#1=yes", "3"])
        assert [[mark.text for mark in entry.reads] for entry in done.entries if entry.kind == "effect"] == [
            ["1"],
            ["1", "2:2.1#1=yes"],
        ]
        seen = session.execute(INSPECT)
        assert (seen.outcome.kind, texts(seen), seen.entries) == ("inert", WHOLE, ())
        assert done.after.done == seen.after.done == (1, 2, 3)
    assert threading.active_count() == 1


@pytest.mark.parametrize("idiom", ["events", "wait"])
def test_each_question_of_each_gate_gets_its_own_answer(idiom: str) -> None:
    with run(Workload.linear(3, {1: 2, 3: 1}), idiom=idiom) as session:
        assert asked(session.execute(START)) == ["1.1"]
        assert asked(session.execute(resume("1.1", 1))) == ["1.2"]
        assert asked(session.execute(resume("1.2", 2))) == ["3.1"]
        done = session.execute(resume("3.1", 3))
        assert texts(done) == ("1:1.1#1=yes,1.2#2=yes", "2", "3:3.1#3=yes")


def test_what_is_on_the_wire() -> None:
    question, answers = Question(2, 1), {}
    for idiom in IDIOMS:
        answers[idiom] = Shape(GATE, idiom, False).answered(question, "yes")
    assert {idiom: type(answer).__name__ for idiom, answer in answers.items()} == {
        "events": "Answer2_1",
        "wait": "HumanResponseEvent",
        "wait-bare": "HumanResponseEvent",
    }
    assert answers["wait"].to_dict() == {"response": "yes", "question": "2.1"}
    assert answers["wait-bare"].to_dict() == {"response": "yes"}
    named = {idiom: ADAPTER.capabilities(DEFAULTS | {"idiom": idiom}).names_question for idiom in IDIOMS}
    assert named == {"events": True, "wait": True, "wait-bare": False}


def test_a_restart_begins_a_new_epoch_whose_frontier_is_its_own() -> None:
    workload = Workload.linear(2, {})
    with run(workload) as session:
        assert session.execute(START).after.done == (1, 2)
        again = session.execute(RESTART)
        assert texts(again) == ("1", "2", "1", "2") and again.after.done == (1, 2)
        died = session.execute(killed(RESTART, "save.after"))
        assert died.outcome.kind == "crashed" and died.after.done == (1,)


def test_a_run_that_is_under_way_takes_no_input() -> None:
    with run() as session:
        session.execute(START)
        refused = session.execute(RESTART)
        assert (refused.outcome.kind, refused.outcome.error) == ("refused", "ContextStateError")
        session.execute(RELOAD)
        assert asked(session.execute(RESTART)) == ["2.1"]


def test_nothing_to_go_on_from_is_refused() -> None:
    with run() as session:
        for command in (RECOVER, resume("2.1", 1)):
            seen = session.execute(command)
            assert (seen.outcome.kind, seen.outcome.error, seen.entries) == ("refused", "NothingSaved", ())
        assert session.execute(INSPECT).outcome.kind == "inert"


def test_what_the_api_cannot_say_is_unsupported() -> None:
    token = Token(Question(2, 1), 1)
    with run() as session:
        session.execute(START)
        for command in (Command("fork", token), Command("resume", token, at="question"), Command("retry")):
            with pytest.raises(Unsupported):
                session.execute(command)
        assert texts(session.execute(resume("2.1", 1))) == WHOLE


@pytest.mark.parametrize(
    "options",
    [{}, {"idiom": "wait", "policy": "park"}, {"idiom": "wait", "save": "slow"}, {"idiom": "wait-bare", "input": "plain"}],
    ids=str,
)
def test_the_ways_to_die_agree_at_every_point(options: dict[str, str]) -> None:
    target = parse_target("llamaindex", options)
    with workspace(Workload.linear(2, {2: 1})) as executor:
        sweeps = [Sweeper(target, executor, mode).run() for mode in MODES]
    assert [one.troubles for one in sweeps] == [[], [], []]
    assert len({one.points for one in sweeps}) == 1 and sweeps[0].points > 20
    assert differences(sweeps) == []
    found = [state for section in sweeps[0].sections for state in section.states if "exception" not in str(state.points)]
    assert {"W1", "W2"} <= {state.window for state in found}
    assert all(state.ended == "completed" for state in found)


def test_a_call_of_a_dead_life_raises_and_writes_nothing(tmp_path: Path) -> None:
    env = Env(tmp_path, DEFAULTS, GATE, ledger=MemoryLedger())
    life = ADAPTER.life(env)
    life.start()
    kept = path_of(env).read_bytes()
    env.arm(CrashPoint("effect.before:2"), None)
    question, answer = Question(2, 1), Token(Question(2, 1), 1).text
    with pytest.raises(Crash):
        life.resume(question, answer, address=None, branch=None)
    for call in (lambda: life.recover(branch=None), lambda: life.resume(question, answer, address=None, branch=None)):
        with pytest.raises(Crash):
            call()
    life.close()
    assert path_of(env).read_bytes() == kept and threading.active_count() == 1


@pytest.mark.parametrize(
    ("options", "lost"),
    [({}, {3}), ({"policy": "park"}, {1, 2, 3}), ({"save": "slow"}, {3}), ({"save": "late"}, {1, 2, 3})],
    ids=str,
)
def test_what_a_death_loses_is_what_was_not_saved(options: dict[str, str], lost: set[int]) -> None:
    with run(Workload.linear(3, {}), **options) as session:
        died = session.execute(killed(START, "effect.after:3"))
        assert died.after.done is not None and {1, 2, 3} - set(died.after.done) == lost
    capabilities = ADAPTER.capabilities(DEFAULTS | options)
    assert capabilities.records == (not options)
    assert [rule.switch for rule in capabilities.documented] == [] if capabilities.records else ["LateRecord"]


def test_the_exception_of_a_task_comes_out() -> None:
    with run() as session:
        failed = session.execute(killed(START, "effect.before:1", by="exception"))
        assert (failed.outcome.kind, failed.outcome.task) == ("failed", 1)


def test_every_execution_passes_the_same_hooks() -> None:
    seen = set()
    for _ in range(3):
        with run(idiom="wait") as session:
            hooks: tuple[str, ...] = ()
            for command in (START, RELOAD, RECOVER, resume("2.1", 1), RESTART, INSPECT):
                hooks += session.execute(command).hooks
        seen.add(hooks)
    (hooks,) = seen
    saved = ("save.before", "save.half", "save.written", "save.after")
    assert hooks[:8] == ("load.before", "load.after", "effect.before:1", "effect.after:1", *saved)


@pytest.mark.parametrize("kind", ADAPTER.capabilities(DEFAULTS).tamper)
def test_damage_is_what_its_kind_says(kind: str) -> None:
    with run() as session:
        session.execute(START)
        store = Store(next(session.folder.rglob("snapshot.json")).parent, DEFAULTS, GATE)
        before = path_of(store).read_text()
        damaged = session.execute(Command("tamper", kind=kind))
        after = path_of(store).read_text()
        assert after != before
        recovered = session.execute(RECOVER)
        if kind in ("dropped-field", "extra-field"):
            assert damaged.after.done == (1,) and ('"workers"' in after, '"undeclared"' in after) == (
                kind == "extra-field",
                kind == "extra-field",
            )
            assert not recovered.effects
        else:
            assert recovered.outcome.kind == "refused" and not recovered.entries
            assert (damaged.after.done is None) == (kind != "wrong-type")


def test_damage_that_makes_no_sense_is_unsupported(tmp_path: Path) -> None:
    store = Store(tmp_path, DEFAULTS, GATE)
    for kind in ("forged-progress", "empty"):  # there is no such damage; there is nothing to damage
        with pytest.raises(Unsupported):
            ADAPTER.tamper(store, kind)
    assert ADAPTER.frontier(store, None) == Frontier(())


def test_the_journal_needs_a_version_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = DEFAULTS | {"store": "journal"}
    for has in (True, False):
        monkeypatch.setattr(llamaindex, "_journals", lambda has=has: has)
        assert ADAPTER.valid(kept) is has and ADAPTER.valid(DEFAULTS)
        assert not ADAPTER.valid(kept | {"policy": "park"})


def test_a_torn_entry_of_the_journal_is_none_and_is_cut_off(tmp_path: Path) -> None:
    env = Env(tmp_path, DEFAULTS | {"store": "journal"}, GATE, ledger=MemoryLedger())
    begun = {"type": "add_event", "event": {"qualified_name": "programs.Begin"}}
    ticks = [[begun], [{"type": "step_result"}], [begun], [{"type": "step_result"}]]
    bases = [0, 0, 0, 1]
    expected = [(), (1,), (), ()]
    for seq, (held, base, done) in enumerate(zip(ticks, bases, expected, strict=True)):
        state = {"state_data": {"value": {"marks": ["1"], "base": base, "note": "ok"}}}
        journal.append(env, {"ticks": [{"seq": seq, "data": json.dumps(tick)} for tick in held], "state": state})
        assert ADAPTER.frontier(env, None).done == done
    env.arm(CrashPoint("append.half"), None)
    with pytest.raises(Crash):
        journal.append(env, {"ticks": [], "state": {}})
    env.dead = False
    env.arm(None, None)
    assert len(journal.load(env)) == 4 and ADAPTER.frontier(env, None).done == ()
    journal.append(env, {"ticks": [], "state": {}})
    assert len(journal.load(env)) == 5 and ADAPTER.frontier(env, None).done is None


def test_a_step_is_what_is_recorded_and_the_documentation_says_so() -> None:
    capabilities = ADAPTER.capabilities(DEFAULTS | {"idiom": "one-step"})
    assert not capabilities.records and {rule.switch for rule in capabilities.documented} >= {"LateRecord", "Replay"}
    with run(idiom="one-step") as session:
        session.execute(START)
        assert fired(session.execute(resume("2.1", 1)))[0] == "1"


def test_a_campaign_reaches_a_verdict_on_everything_that_can_be_said() -> None:
    report, _ = campaign("llamaindex", {}, seed=0, runs=120)
    verdicts = {name: verdict.verdict for name, verdict in report.verdicts.items()}
    held = dict.fromkeys(("PC", "RD", "IN"), "holds")
    assert verdicts.items() >= {**held, "FD": "inapplicable", "FI": "inapplicable", "CV": "violated"}.items()
    assert "unexercised" not in verdicts.values()
    assert any(finding.explained_by == (("InvalidPersist",),) and len(finding.words) == 1 for finding in report.findings)


def test_a_documented_deviation_is_documented() -> None:
    report, _ = campaign("llamaindex", {"policy": "park"}, seed=0, runs=40)
    late = [finding for finding in report.findings if finding.explained_by == (("LateRecord",),)]
    assert late and all(finding.verdict == "documented" for finding in late)


@PINNED
@pytest.mark.parametrize(
    ("idiom", "commands", "judged", "explained"),
    [
        ("events", (START, resume("2.1", 1), resume("2.1", 2), resume("2.2", 3)), "CO", "DoubleConsume"),
        ("wait", (START, resume("2.1", 1), resume("2.1", 2), resume("2.2", 3)), "CO", "DoubleConsume"),
        ("events", (START, resume("2.2", 1), resume("2.1", 2)), "LV", "StrayPoisons"),
        ("wait", (START, resume("2.1", 1), RELOAD, resume("2.2", 2)), "CO", "Misroute"),
        ("events", (START, resume("2.1", 1), killed(resume("2.2", 2), "effect.before:3", by="exception"), RECOVER), "LV",
         "RefuseRecovery"),
        ("events", (START, RESTART, RELOAD, RESTART), "RS", "RestartMix"),
        ("events", (START, Command("tamper", kind="dropped-field"), RECOVER), "CV", "TamperAccept"),
    ],
)  # fmt: skip
def test_what_llamaindex_gets_wrong(idiom: str, commands: tuple[Command, ...], judged: str, explained: str) -> None:
    target = parse_target("llamaindex", {"idiom": idiom})
    with workspace(Workload.linear()) as executor:
        violation = executor.execute(target, commands).violation
        assert violation is not None and violation.command is commands[-1]
        found = diagnose(executor.reference, violation, frozenset(), target)
    assert found.anomaly.property == judged and any(explained in names for names in found.explanation)


@PINNED
def test_a_snapshot_holds_what_a_step_in_work_has_written() -> None:
    with run(Workload.linear(3, {}), save="slow") as session:
        died = session.execute(killed(START, "save.after"))
        assert (fired(died), died.after.done) == (["1", "2"], (1, 2))
        recovered = session.execute(RECOVER)
        assert (fired(recovered), texts(recovered)) == (["2", "3"], ("1", "2", "2", "3"))


@pytest.mark.skipif(not llamaindex._journals(), reason="this version has no journal")
@pytest.mark.parametrize("save", ["sync", "late"])
def test_a_run_goes_on_from_its_journal(save: str) -> None:
    with run(store="journal", save=save) as session:
        assert asked(session.execute(START)) == ["2.1"]
        assert asked(session.execute(RECOVER)) == ["2.1"]
        assert session.execute(killed(resume("2.1", 1), "effect.before:3")).outcome.kind == "crashed"
        recovered = session.execute(RECOVER)
        done = recovered if recovered.outcome.kind == "completed" else session.execute(resume("2.1", 2))
        assert [text.partition(":")[0] for text in texts(done)] == ["1", "2", "3"]


@PINNED
def test_after_a_failed_step_a_run_without_a_declared_input_begins_again() -> None:
    with run(input="plain") as session:
        session.execute(START)
        session.execute(killed(resume("2.1", 1), "effect.before:3", by="exception"))
        recovered = session.execute(RECOVER)
        assert asked(recovered) == ["2.1"] and fired(recovered) == ["1"]
