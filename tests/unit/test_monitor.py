"""Each rule of the contract twice: a run that keeps it, and a run that breaks it for that very reason."""

import pytest
from contract_runs import FIRST, KILLED, MARKS, Q1, Q2, REFERENCE, SECOND, START, WHOLE, WORKLOAD, A, B, C, judge_run, seen

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.explain import explain
from fuzzresume.contract.faults import SEQUENTIAL
from fuzzresume.contract.monitor import explainable, replay, sights
from fuzzresume.contract.properties import attribute
from fuzzresume.contract.workload import Mark, Question, Token

FORK = Token(Q1, 3)
DIED = (Command("start", crash=KILLED), seen("crashed", effects=(Mark(1),), after=()))
DIED_LATER = (
    Command("resume", B, crash=CrashPoint("effect.before:3")),
    seen("crashed", effects=MARKS[1:2], before=(1,), after=(1, 2)),
)
AGAIN = seen("parked", effects=(Mark(1),), after=(1,), asked=(Q1,))
FINISHED = seen("completed", effects=(Mark(3),), before=(1, 2), after=(1, 2, 3), marks=MARKS)

LEGAL = {
    "a whole run": WHOLE,
    "the task in doubt runs again": [DIED, (Command("recover"), AGAIN)],
    "nothing durable: refused": [DIED, (Command("recover"), seen("refused"))],
    "nothing durable: started again": [DIED, (Command("start"), AGAIN)],
    "the task in doubt is not run, its mark is there": [
        START,
        FIRST,
        (
            Command("resume", B, crash=CrashPoint("effect.after:2")),
            seen("crashed", effects=MARKS[1:2], before=(1,), after=(1,)),
        ),
        (Command("recover"), seen("completed", effects=(Mark(3),), before=(1,), after=(1, 2, 3), marks=MARKS)),
    ],
    "an exception is a death": [
        (Command("start", crash=CrashPoint("effect.before:1", 1, "exception")), seen("failed", enters=[1], task=1)),
        (Command("retry"), AGAIN),
    ],
    "recovery of a parked run is refused": [START, (Command("recover"), seen("refused", before=(1,), after=(1,)))],
    "a recovered run completes": [START, FIRST, DIED_LATER, (Command("recover"), FINISHED)],
    "a redelivery is inert": [*WHOLE, (Command("redeliver", A), seen("completed", before=(1, 2, 3), after=(1, 2, 3)))],
    "a stray is refused": [*WHOLE, (Command("stray", C), seen("refused", before=(1, 2, 3), after=(1, 2, 3)))],
    "a fork is served": [
        START,
        FIRST,
        (Command("fork", FORK), seen("parked", enters=[2], before=(1,), after=(1,), asked=(Q2,))),
    ],
    "a fork is refused": [START, FIRST, (Command("fork", FORK), seen("refused", before=(1,), after=(1,)))],
    "a branch that asks takes what nobody was thought to ask for": [
        *WHOLE,
        (Command("fork", FORK), seen("parked", before=(1,), after=(1,), asked=(Q2,))),
        (
            Command("stray", Token(Q2, 4)),
            seen(
                "completed",
                effects=(Mark(2, (FORK.text, Token(Q2, 4).text)), Mark(3)),
                before=(1,),
                after=(1, 2, 3),
                marks=(Mark(1), Mark(2, (FORK.text, Token(Q2, 4).text)), Mark(3)),
            ),
        ),
    ],
    "a branch that asks takes an earlier answer": [
        *WHOLE,
        (Command("fork", FORK), seen("parked", before=(1,), after=(1,), asked=(Q2,))),
        (
            Command("redeliver", B),
            seen(
                "completed",
                effects=(Mark(2, (FORK.text, B.text)), Mark(3)),
                before=(1,),
                after=(1, 2, 3),
                marks=(Mark(1), Mark(2, (FORK.text, B.text)), Mark(3)),
            ),
        ),
    ],
    "a fork of a finished run": [
        *WHOLE,
        (Command("fork", FORK), seen("parked", before=(1,), after=(1,), asked=(Q2,))),
        (
            Command("resume", Token(Q2, 4)),
            seen(
                "completed",
                effects=(Mark(2, (FORK.text, Token(Q2, 4).text)), Mark(3)),
                before=(1,),
                after=(1, 2, 3),
                marks=(Mark(1), Mark(2, (FORK.text, Token(Q2, 4).text)), Mark(3)),
            ),
        ),
    ],
    "a restart is a new epoch": [
        *WHOLE,
        (Command("restart"), seen("parked", effects=(Mark(1),), before=(1, 2, 3), after=(1,), asked=(Q1,))),
    ],
    "a restart is inert": [*WHOLE, (Command("restart"), seen("completed", before=(1, 2, 3), after=(1, 2, 3), marks=MARKS))],
    "an invalid update is refused": [
        (Command("start", poison=1), seen("refused", effects=(Mark(1),))),
        (Command("recover"), AGAIN),
    ],
    "a damaged store is refused": [
        START,
        (Command("tamper", kind="empty"), seen("inert")),
        (Command("recover"), seen("refused")),
    ],
    "twins agree": [
        START,
        FIRST,
        DIED_LATER,
        (
            Command("recover2"),
            seen("completed", effects=(Mark(3),), before=(1, 2), after=(1, 2, 3), marks=MARKS, twin=FINISHED),
        ),
    ],
    "inspection shows nothing": [START, (Command("inspect"), seen("inert", before=(1,), after=(1,))), FIRST, SECOND],
    "an unreadable frontier is unknown, not empty": [
        START,
        (Command("resume", A), seen("parked", before=(1,), after=None, asked=(Q2,))),
    ],
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name):
    monitor, violation = judge_run(*LEGAL[name])
    assert violation is None
    assert monitor.worlds


BROKEN = {
    "a durable effect fires again": (
        [
            START,
            FIRST,
            DIED_LATER,
            (Command("recover"), seen("completed", effects=MARKS[1:], before=(1, 2), after=(1, 2, 3), marks=MARKS)),
        ],
        "EO",
        "ReexecLast",
    ),
    "the whole prefix fires again": (
        [
            START,
            FIRST,
            DIED_LATER,
            (Command("recover"), seen("completed", effects=MARKS, before=(1, 2), after=(1, 2, 3), marks=MARKS)),
        ],
        "EO",
        "Replay",
    ),
    "a gate is entered again without its effect": (
        [
            START,
            FIRST,
            DIED_LATER,
            (
                Command("recover"),
                seen("completed", effects=(Mark(1), Mark(3)), enters=[1, 2, 3], before=(1, 2), after=(1, 2, 3), marks=MARKS),
            ),
        ],
        "EO",
        "PrefixReplay",
    ),
    "a task is skipped": (
        [START, FIRST, DIED_LATER, (Command("recover"), seen("completed", before=(1, 2), after=(1, 2, 3), marks=MARKS[:2]))],
        "PC",
        "SkipTask",
    ),
    "several tasks in doubt": (
        [
            START,
            FIRST,
            (Command("resume", B, crash=CrashPoint("x")), seen("crashed", effects=MARKS[1:], before=(1,), after=(1,))),
        ],
        "EO",
        "LateRecord",
    ),
    "recovery refused with work left": (
        [START, FIRST, DIED_LATER, (Command("recover"), seen("refused", before=(1, 2), after=(1, 2)))],
        "LV",
        "RefuseRecovery",
    ),
    "a park is lost": (
        [
            START,
            (Command("reload"), seen("inert", before=(1,), after=(1,))),
            (Command("recover"), seen("idle", before=(1,), after=(1,))),
        ],
        "LV",
        "ParkLost",
    ),
    "an answer in doubt does nothing, and the gate has no later one": (
        [
            START,
            (Command("resume", A, crash=KILLED), seen("crashed", before=(1,), after=(1,))),
            (Command("resume", C), seen("idle", before=(1,), after=(1,))),
        ],
        "LV",
        "ParkLost",
    ),
    "an acknowledged answer is asked for again": (
        [START, FIRST, (Command("recover"), seen("parked", before=(1,), after=(1,), asked=(Q1,)))],
        "CO",
        "AnswerLost",
    ),
    "a fork gets the trunk's answer": (
        [
            *WHOLE,
            (Command("fork", Token(Q2, 3)), seen("completed", effects=MARKS[1:], before=(1,), after=(1, 2, 3), marks=MARKS)),
        ],
        "FD",
        "ForkIgnore",
    ),
    "a fork's answer reaches the trunk": (
        [
            START,
            (Command("fork", A), seen("parked", before=(1,), after=(1,), asked=(Q2,))),
            (Command("recover", branch="trunk"), seen("parked", before=(1,), after=(1,), asked=(Q2,))),
        ],
        "FD",
        "ForkLeak",
    ),
    "a redelivery is consumed": (
        [
            *WHOLE,
            (Command("redeliver", B), seen("completed", effects=MARKS[1:], before=(1, 2, 3), after=(1, 2, 3), marks=MARKS)),
        ],
        "CO",
        "DoubleConsume",
    ),
    "an answer reaches another question": (
        [
            START,
            FIRST,
            (
                Command("redeliver", A),
                seen(
                    "completed",
                    effects=(Mark(2, (A.text, A.text)), Mark(3)),
                    before=(1,),
                    after=(1, 2, 3),
                    marks=(Mark(1), Mark(2, (A.text, A.text)), Mark(3)),
                ),
            ),
        ],
        "CO",
        "Misroute",
    ),
    "a stray is told consumed": (
        [
            *WHOLE,
            (Command("stray", C), seen("completed", before=(1, 2, 3), after=(1, 2, 3), marks=(*MARKS, Mark(2, (C.text,))))),
        ],
        "CO",
        None,
    ),
    "a refused stray is served later": (
        [
            (Command("stray", C), seen("refused")),
            (Command("start"), seen("parked", effects=(Mark(1),), after=(1,), asked=(Q2,))),
        ],
        "CO",
        "StrayPoisons",
    ),
    "an invalid update becomes durable": (
        [(Command("start", poison=1), seen("parked", effects=(Mark(1),), after=(1,), asked=(Q1,)))],
        "CV",
        "InvalidPersist",
    ),
    "a damaged store is continued from": (
        [START, (Command("tamper", kind="wrong-type"), seen("inert")), (Command("recover"), seen("parked", asked=(Q1,)))],
        "CV",
        "TamperAccept",
    ),
    "twins differ": (
        [
            START,
            FIRST,
            DIED_LATER,
            (
                Command("recover2"),
                seen(
                    "completed",
                    effects=(Mark(3),),
                    before=(1, 2),
                    after=(1, 2, 3),
                    marks=MARKS,
                    twin=seen("completed", effects=MARKS[1:], before=(1, 2), after=(1, 2, 3), marks=MARKS),
                ),
            ),
        ],
        "RD",
        "NondetRecovery",
    ),
    "inspection runs a task": (
        [START, (Command("inspect"), seen("inert", effects=(Mark(1),), before=(1,), after=(1,)))],
        "IN",
        "InspectActs",
    ),
    "a restart serves an old answer": (
        [*WHOLE, (Command("restart"), seen("parked", effects=(Mark(1),), before=(1, 2, 3), after=(1,), asked=(Q2,)))],
        "RS",
        "RestartMix",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name):
    exchanges, prop, switch = BROKEN[name]
    _, violation = judge_run(*exchanges)
    assert violation is not None and violation.index == len(exchanges) - 1
    explanation = explain(REFERENCE, violation.sights)
    assert attribute(WORKLOAD, violation, explanation).property == prop
    if switch is not None:
        assert (switch,) in explanation


def test_a_run_goes_on_beyond_its_profile():
    exchanges, _, _ = BROKEN["several tasks in doubt"]
    monitor, violation = judge_run(*exchanges, profile=frozenset({"LateRecord"}))
    assert violation is None and monitor.deviated
    lost = seen("completed", before=(1,), after=(1, 2, 3), marks=MARKS[:1])
    assert monitor.observe(Command("recover"), lost) is not None


def test_a_choice_is_constant():
    fork = (
        Command("fork", Token(Q2, 3)),
        seen("completed", effects=(Mark(2, (A.text, Token(Q2, 3).text)), Mark(3)), before=(1,), after=(1, 2, 3)),
    )
    died = (Command("recover"), seen("completed", before=(1, 2, 3), after=(1, 2, 3), marks=MARKS))
    monitor, violation = judge_run(*WHOLE, fork, died)
    assert violation is None
    assert monitor.policy["latest"] == "trunk"


@pytest.mark.parametrize("name", BROKEN)
def test_one_world_is_enough_to_explain(name):
    exchanges, _, switch = BROKEN[name]
    trace = sights(exchanges)
    assert not explainable(REFERENCE, trace, frozenset())
    for faults in ({switch} - {None}, set(SEQUENTIAL)):
        assert explainable(REFERENCE, trace, frozenset(faults)) == bool(replay(REFERENCE, trace, frozenset(faults)))


def test_unexplained():
    final = seen("completed", effects=MARKS[1:], before=(1,), after=(1, 2, 3), marks=tuple(reversed(MARKS)))
    _, violation = judge_run(START, FIRST, (Command("resume", B), final))
    assert violation is not None
    assert explain(REFERENCE, violation.sights) == ()


def test_an_answer_to_a_question_nobody_asked():
    monitor, violation = judge_run(
        START, (Command("resume", Token(Question(2, 2), 9)), seen("refused", before=(1,), after=(1,)))
    )
    assert violation is None and monitor.worlds


@pytest.mark.parametrize("op", ["redeliver", "stray", "resume"])
def test_a_delivery_that_does_nothing_can_die_of_it(op):
    command = Command(op, A if op == "redeliver" else C, crash=CrashPoint("get.after"))
    assert judge_run(*WHOLE, (command, seen("crashed", before=(1, 2, 3), after=(1, 2, 3))))[1] is None
    acted = seen("crashed", effects=(Mark(3),), before=(1, 2, 3), after=(1, 2, 3))
    assert judge_run(*WHOLE, (command, acted))[1] is not None


def test_a_poison_that_never_struck_gives_the_violation_no_name():
    failed = (
        Command("start", crash=CrashPoint("effect.before:1", by="exception")),
        seen("failed", enters=[1], task=1),
    )
    stalled = (Command("retry", poison=1), seen("idle"))
    _, violation = judge_run(failed, stalled)
    assert attribute(WORKLOAD, violation, ()).property == "LV"
    struck = (Command("retry", poison=1), seen("parked", effects=(Mark(1),), after=(1,), asked=(Q1,)))
    _, violation = judge_run(failed, struck)
    assert attribute(WORKLOAD, violation, ()).property == "CV"


@pytest.mark.parametrize("meaning", ["continues", "anew"])
def test_a_restart_may_mean_another_thing_once_every_task_is_durable(meaning):
    """A target that goes by its store continues in the middle, and finds a finished run finished."""
    died_early = (
        Command("resume", A, crash=CrashPoint("effect.before:2")),
        seen("crashed", enters=[2], before=(1,), after=(1,)),
    )
    continued = (Command("restart"), seen("parked", enters=[2], before=(1,), after=(1,), asked=(Q2,)))
    died_late = (
        Command("resume", B, crash=CrashPoint("effect.after:3")),
        seen("crashed", effects=MARKS[1:], before=(1,), after=(1, 2, 3)),
    )
    ends = {
        "continues": seen("completed", before=(1, 2, 3), after=(1, 2, 3), marks=MARKS),
        "anew": seen("parked", effects=(Mark(1),), before=(1, 2, 3), after=(1,), asked=(Q1,), marks=(Mark(1),)),
    }
    _, violation = judge_run(START, died_early, continued, died_late, (Command("restart"), ends[meaning]))
    assert violation is None
