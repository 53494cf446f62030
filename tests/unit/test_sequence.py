"""Sequence diagrams: who is in them, what goes where, and that no text of a framework breaks out of them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from contract_runs import seen
from report_samples import ANSWERED, DOUBTFUL, FORKED, GATE, HOSTILE, RACED, REFUSED, A, B
from report_samples import START as PARKED
from sequence_traces import FOUND, trace, unseen

import fuzzresume.shrinks
from fuzzresume.contract.commands import ELSEWHERE, Command, CrashPoint
from fuzzresume.contract.trace import Found, Trace, load
from fuzzresume.contract.workload import Mark
from fuzzresume.report.sequence import mermaid, svg
from fuzzresume.report.sequence_steps import Step, diagram

SHIPPED = sorted(Path(fuzzresume.shrinks.__path__[0]).glob("*/*/trace.json"))
SVG = "{http://www.w3.org/2000/svg}"
RECOVERED = (
    Command("recover"),
    seen("completed", effects=(Mark(3),), before=(1, 2), after=(1, 2, 3), marks=(Mark(1), Mark(2, (A.text,)), Mark(3))),
)


def columns(drawn: Trace) -> list[str]:
    return [one.label for one in diagram(drawn).participants]


def steps(drawn: Trace) -> list[tuple[str, str, str, str]]:
    return [(step.kind, step.source, step.target, step.text) for step in diagram(drawn).steps]


def test_commands_effects_records_and_replies_are_arrows() -> None:
    assert steps(trace(PARKED, ANSWERED, found=None)) == [
        ("command", "user", "p1", "start"),
        ("effect", "p1", "effects", "effect 1"),
        ("record", "p1", "store", "frontier {1}"),
        ("reply", "p1", "user", "parked at question 2.1"),
        ("command", "user", "p1", "resume(a, gate 2)"),
        ("effect", "p1", "effects", "effect 2(a)"),
        ("effect", "p1", "effects", "effect 3"),
        ("record", "p1", "store", "frontier {1, 2, 3}"),
        ("reply", "p1", "user", "completed, final state: 1, 2(a), 3"),
    ]
    assert columns(trace(PARKED, found=None)) == ["user", "process 1", "store", "effects"]


def test_the_last_command_is_marked_where_something_was_found() -> None:
    drawn = diagram(trace(PARKED, ANSWERED, FORKED))
    assert drawn.marked is not None and drawn.steps[drawn.marked].text == "fork(b, gate 2)"
    assert drawn.steps[-1] == Step("note", "user", "effects", "violated: FD, a fork was not served its own answer")
    assert drawn.title == "FD-2dc830 on example"
    assert diagram(trace(PARKED, found=None)).marked is None


def test_a_kill_ends_the_process_and_the_next_command_has_another_one() -> None:
    died = trace(PARKED, DOUBTFUL, RECOVERED, found=None)
    assert columns(died) == ["user", "process 1", "process 2", "store", "effects"]
    after = steps(died)[steps(died).index(("death", "p1", "p1", "SIGKILL at effect.after:3")) :]
    assert after[1:4] == [
        ("note", "store", "store", "still frontier {1}"),
        ("command", "user", "p2", "recover"),
        ("read", "store", "p2", "frontier {1}"),
    ]


def test_an_exception_leaves_the_process_alive() -> None:
    thrown = (replace(DOUBTFUL[0], crash=CrashPoint("effect.after:3", 2, "exception")), DOUBTFUL[1])
    again = (Command("retry"), RECOVERED[1])
    assert ("refusal", "p1", "user", "exception at effect.after:3, passing 2") in steps(trace(PARKED, thrown, again))
    assert ("command", "user", "p1", "retry") in steps(trace(PARKED, thrown, again))


def test_a_crash_point_that_was_not_passed_kills_nobody() -> None:
    void = (replace(ANSWERED[0], crash=CrashPoint("never")), ANSWERED[1])
    assert not [step for step in steps(trace(PARKED, void)) if step[0] == "death"]


def test_a_recovery_is_a_new_process_even_if_the_old_one_lives() -> None:
    assert ("command", "user", "p2", "recover") in steps(trace(PARKED, RECOVERED))


def test_what_throws_memory_away_ends_the_process() -> None:
    inert = seen("inert", before=(1,), after=(1,))
    reloaded = trace(PARKED, (Command("reload"), inert), ANSWERED)
    assert ("command", "user", "p1", "reload: all its objects are thrown away") in steps(reloaded)
    assert ("command", "user", "p2", "resume(a, gate 2)") in steps(reloaded)
    damaged = trace(PARKED, (Command("tamper", kind="empty"), inert), ANSWERED)
    assert ("command", "user", "store", "tamper(empty)") in steps(damaged)
    assert ("command", "user", "p2", "resume(a, gate 2)") in steps(damaged)
    assert ("note", "user", "user", "reload: no process lives") in steps(trace(PARKED, DOUBTFUL, (Command("reload"), inert)))


def test_an_inspection_from_elsewhere_has_a_process_of_its_own_and_the_present_one_goes_on() -> None:
    looked = (Command("inspect", kind=ELSEWHERE), seen("inert", before=(1,), after=(1,)))
    drawn = steps(trace(PARKED, looked, ANSWERED))
    assert ("command", "user", "p2", "inspect from another process") in drawn
    assert ("command", "user", "p1", "resume(a, gate 2)") in drawn


def test_two_recoveries_have_a_process_each_and_only_the_second_one_has_the_run_s_store() -> None:
    twin = seen("refused", before=(1,), after=(1,))
    twice = (Command("recover2"), replace(RECOVERED[1], twin=twin))
    drawn = steps(trace(PARKED, DOUBTFUL, twice))
    assert ("command", "user", "p2", "recover2, on a copy of the store") in drawn and (
        "refusal",
        "p2",
        "user",
        "refused",
    ) in drawn
    assert ("command", "user", "p3", "recover2, on the store itself") in drawn
    assert [step[1] for step in drawn if step[0] == "record"] == ["p1", "p3"]


def test_racers_stand_side_by_side_and_an_effect_is_with_the_racer_whose_answer_it_has() -> None:
    raced = trace(PARKED, RACED)
    assert columns(raced) == ["user", "process 1", "process 2, racer 1", "process 3, racer 2", "store", "effects"]
    drawn = steps(raced)
    assert ("command", "user", "p2", "resume(a, gate 2)") in drawn and ("effect", "p2", "effects", "effect 2(a)") in drawn
    assert ("command", "user", "p3", "resume(b, gate 2)") in drawn and ("effect", "p3", "effects", "effect 2(b)") in drawn
    assert ("note", "p2", "effects", "by one racer or another: effects 3, 3") in drawn
    told = trace(PARKED, (RACED[0], replace(RACED[1], told=(B.text,))))
    assert [step for step in steps(told) if step[0] == "reply"][1:] == [("reply", "p3", "user", "told that b was consumed")]


def test_threads_are_parts_of_one_process() -> None:
    threads = (replace(RACED[0], unit="threads"), RACED[1])
    after = (Command("inspect"), seen("inert", before=(1, 2, 3), after=(1, 2, 3)))
    assert columns(trace(PARKED, threads, after))[2:5] == ["process 2, thread 1", "process 2, thread 2", "process 3"]


def test_a_refusal_a_hang_and_tasks_entered_again_are_shown() -> None:
    assert ("refusal", "p1", "user", "refused") in steps(trace(PARKED, REFUSED))
    hung = (ANSWERED[0], seen("hung", before=(1,), after=(1,)))
    assert ("death", "p1", "p1", "does not come back: hung") in steps(trace(PARKED, hung))
    again = (Command("recover"), seen("parked", enters=[1], before=(1,), after=(1,), asked=(GATE,)))
    assert ("note", "p2", "p2", "enters durable task 1 again") in steps(trace(PARKED, again))


def test_what_was_not_recorded_is_not_drawn() -> None:
    drawn = steps(unseen([PARKED[0], DOUBTFUL[0], RACED[0], RECOVERED[0]]))
    assert {kind for kind, *_ in drawn} == {"command", "read", "death", "note"}
    assert ("read", "store", "p4", "what is durable") in drawn
    assert ("death", "p1", "p1", "SIGKILL at effect.after:3") in drawn


def test_the_sentences_say_all_that_the_arrows_do() -> None:
    said = diagram(trace(PARKED, DOUBTFUL)).sentences
    assert said[0] == "user to process 1: start." and "process 1 dies: SIGKILL at effect.after:3." in said
    assert "Violation begins. user to process 1: resume(a, gate 2), killed at effect.after:3." in said
    assert said[-1].startswith("user through effects: violated: FD")


# Mermaid's grammar of what is written here: a line is one of these, whatever the texts are.
LABEL = r"(?:[\w \-.,:(){}\[\]|/+=@'·—…]|#\d+;|<br/>)+"
LINES = (
    r"sequenceDiagram",
    rf" {{4}}accTitle: {LABEL}",
    rf" {{4}}participant \w+ as {LABEL}",
    rf" {{4,8}}\w+(?:->>|-->>|--x|-x)\w+: {LABEL}",
    rf" {{4,8}}Note over \w+(?:,\w+)?: {LABEL}",
    r" {4}rect rgba\(214, 69, 65, 0\.15\)",
    r" {4}end",
)


def well_formed(text: str) -> bool:
    return text.endswith("\n") and all(any(re.fullmatch(line, row) for line in LINES) for row in text[:-1].split("\n"))


def shown_back(text: str) -> str:
    """What Mermaid shows of a label."""
    return unescape(re.sub(r"#(\d+);", r"&#\1;", text.replace("<br/>", " ")))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}")
def test_every_shipped_trace_can_be_drawn(path: Path) -> None:
    shipped = load(path)
    text = mermaid(shipped)
    assert well_formed(text) and shipped.found is not None and f"accTitle: {shipped.found.id} on {shipped.target}" in text
    assert text.count("rect ") == 1 and text.endswith("    end\n")
    drawn = diagram(shipped)
    assert len(ElementTree.fromstring(svg(shipped)).findall(f"{SVG}text")) == len(drawn.steps) + len(drawn.participants)


@pytest.mark.parametrize(
    "hostile", [HOSTILE, "end", "a;b#c\"d'e", "x\n    end\n%%{init: {}}%%", "END end. #35;", "$$x$$ \\n"]
)
def test_no_text_breaks_out_of_a_diagram(hostile: str) -> None:
    served = (ANSWERED[0], seen("refused", effects=(Mark(2, (hostile,)),), before=(1,), after=(1, 2)))
    killed = (replace(DOUBTFUL[0], crash=CrashPoint(f"hook {hostile}")), DOUBTFUL[1])
    broken = trace(PARKED, served, killed, found=found_of(hostile))
    text = mermaid(broken)
    assert well_formed(text) and not re.search(r"(?i): .*\bend\b", text)
    spoken = " ".join(hostile.split()).replace("\x00", "\\x00").replace("\x1b", "\\x1b").replace("\ud800", "\\ud800")
    assert f"violated: FD, {spoken}" in shown_back(text) and f"effect 2({spoken})" in shown_back(text)
    root = ElementTree.fromstring(svg(broken))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "rect",
        "path",
        "text",
        "tspan",
    }
    assert spoken in (root.findtext(f"{SVG}desc") or "")
    assert svg(broken).encode() and text.encode()


def found_of(cls: str) -> Found:
    found = load(SHIPPED[0]).found
    assert found is not None
    found.property, found.cls, found.verdict = "FD", cls, "violated"
    return found


def test_a_picture_has_a_name_and_a_description_and_nothing_that_two_of_them_could_share() -> None:
    text = svg(trace(PARKED, ANSWERED, FORKED))
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root[0].text == "Sequence diagram: FD-2dc830 on example"
    assert (root[1].text or "").startswith("user to process 1: start.")
    assert not [element for element in root.iter() if "id" in element.attrib] and "url(" not in text
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    for row in root.iter(f"{SVG}tspan"):
        assert 0 < float(row.get("x", 0)) < width and 0 < float(row.get("y", 0)) < height


def test_a_long_label_is_cut_and_whole_in_its_tooltip() -> None:
    found = found_of("very long words " * 60)
    drawn = ElementTree.fromstring(svg(trace(PARKED, REFUSED, found=found)))
    (cut,) = [text for text in drawn.iter(f"{SVG}text") if text.find(f"{SVG}title") is not None]
    rows = [row.text or "" for row in cut.iter(f"{SVG}tspan")]
    assert len(rows) == 5 and rows[-1].endswith(" …")
    assert (cut.findtext(f"{SVG}title") or "").count("very long words") == 60
    assert mermaid(trace(PARKED, REFUSED, found=found)).count("<br/>") == 5


def test_the_same_trace_gives_the_same_diagram() -> None:
    one, other = (trace(PARKED, RACED, found=FOUND) for _ in range(2))
    assert (mermaid(one), svg(one)) == (mermaid(other), svg(other))
