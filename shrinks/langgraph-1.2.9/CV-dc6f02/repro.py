# /// script
# requires-python = ">=3.11"
# dependencies = ["langgraph==1.2.9", "langgraph-checkpoint==4.1.1", "langgraph-checkpoint-sqlite==3.1.0"]
# ///
"""langgraph: continued from a damaged store

Seen on langgraph 1.2.9, langgraph-checkpoint 4.1.1, langgraph-checkpoint-sqlite 3.1.0 (api=graph saver=sqlite
durability=sync executor=inline schema=typeddict fork=one-call).

1. start
2. tamper(wrong-type)
3. recover

expected  refused; effects: none
observed  parked at question 2.1; effects: none; frontier: {1}

Task t asks question t.1, then t.2, where it asks any, and then fires its effect; a, b, c are answers. Run this with
`uv run repro.py`, or with the packages above installed: exit code 1 while it reproduces, 0 when it no longer does, 3 when it
cannot tell.
"""

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path


def cannot_tell(words):
    print(f"cannot tell: {words}", flush=True)
    return 3


def stumble(kind, error, trace):
    """Exit code 1 says that it reproduces, so a script that stumbles must not end with it, even if it cannot print."""
    try:
        sys.__excepthook__(kind, error, trace)
        cannot_tell(f"{kind.__name__}: {error}")
    finally:
        os._exit(3)


sys.excepthook = stumble

import contextlib
import operator
import sqlite3
from typing import Annotated, TypedDict

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

CONFIG = {"configurable": {"thread_id": "run"}}
INPUT = {"marks": [], "note": "go"}


class State(TypedDict):
    marks: Annotated[list[str], operator.add]
    note: str


def task_1(state: State):
    mark = effect(1)
    return {"marks": [mark], "note": "ok"}


def task_2(state: State):
    answer_1 = interrupt("2.1")
    mark = effect(2, answer_1)
    return {"marks": [mark], "note": "ok"}


def task_3(state: State):
    mark = effect(3)
    return {"marks": [mark], "note": "ok"}


def open_run():
    graph = StateGraph(State)
    graph.add_node(task_1)
    graph.add_node(task_2)
    graph.add_node(task_3)
    graph.add_edge(START, "task_1")
    graph.add_edge("task_1", "task_2")
    graph.add_edge("task_2", "task_3")
    graph.add_edge("task_3", END)
    return graph.compile(checkpointer=open_saver())


def open_saver():
    store = sqlite3.connect(FOLDER / "store.sqlite", check_same_thread=False)
    return SqliteSaver(store)


def invoke(run, payload):
    return run.invoke(payload, CONFIG, durability="sync")


def told(run, reply):
    asks = [asked.value for asked in (reply or {}).get("__interrupt__", ())]
    outcome = "parked" if asks else "idle" if run.get_state(CONFIG).next else "completed"
    return {"outcome": outcome, "asks": asks, "state": (reply or {}).get("marks")}


def change_type():
    """Leaves a number in the newest checkpoint's field `note`, which is declared as a string."""
    with contextlib.closing(sqlite3.connect(FOLDER / "store.sqlite")) as store, store:
        query = "SELECT checkpoint_id, type, checkpoint FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 1"
        newest, kind, content = store.execute(query).fetchone()
        checkpoint = JsonPlusSerializer().loads_typed((kind, content))
        checkpoint["channel_values"]["note"] = 18
        kind, content = JsonPlusSerializer().dumps_typed(checkpoint)
        update = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE checkpoint_id = ?"
        store.execute(update, (kind, content, newest))


# ---- The commands. Each function is a process of its own; they run one after the other.


def process_1():
    # start
    command(1, lambda run: invoke(run, INPUT))


def process_2():
    # tamper(wrong-type)
    tamper(2, lambda: change_type())


def process_3():
    # recover
    command(3, lambda run: invoke(run, None))


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"]},
    2: {"outcome": "inert", "effects": []},
    3: {"outcome": "parked", "effects": [], "asks": ["2.1"]},
}
RIGHT = [
    {"outcome": "refused", "effects": []},
]


# ---- The stage: effects, processes and their deaths, and the comparison.

PASSED, PLANTED, RUN = Counter(), {}, []


def effect(task, *answers):
    reach(f"effect.before:{task}")
    mark = f"{task}:{','.join(map(str, answers))}" if answers else str(task)
    write("effects", {"command": PLANTED["command"], "mark": mark})
    reach(f"effect.after:{task}")
    return mark


def reach(point):
    PASSED[point] += 1


def command(number, call, **planted):
    PASSED.clear()
    PLANTED.clear()
    PLANTED.update(planted, command=number)
    try:
        RUN or RUN.append(open_run())
        shown = told(RUN[0], call(RUN[0]))
    except Exception as error:
        if PLANTED.get("failed"):
            shown = {"outcome": "crashed"}
        else:
            shown = {**refused(f"{type(error).__name__}: {error}"), "stumbled": stumbled(error)}
    write("shown", {**planted, **shown, "command": number})


def stumbled(error):
    """Whether a line of this script raised it, or the disk is in trouble: that is no refusal."""
    trace, words = error.__traceback__, f"{error} {error.__cause__}".lower()
    while trace.tb_next:
        trace = trace.tb_next
    here = trace.tb_frame.f_code.co_filename == __file__
    troubles = ("database is locked", "table is locked", "no space left", "disk is full", "disk full")
    return here or getattr(error, "errno", None) == errno.ENOSPC or any(trouble in words for trouble in troubles)


def tamper(number, damage):
    damage()
    write("shown", {"command": number, "outcome": "inert"})


def refused(words):
    return {"outcome": "refused", "error": " ".join(words.split())}


def write(name, line):
    with open(FOLDER / name, "a") as file:
        file.write(json.dumps(line) + "\n")


def read(name):
    path = FOLDER / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def spawn(name):
    line = [sys.executable, __file__, str(FOLDER), name]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_process(name, numbers):
    process = spawn(name)
    try:
        process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if process.returncode not in (0, -9):
        sys.exit(cannot_tell(f"{name} ended with exit code {process.returncode}"))
    shown = {line["command"]: line for line in read("shown")}
    for number in numbers:
        if number not in shown:
            write("shown", {"command": number, "outcome": "crashed"})
            return


def answers_in(mark):
    return [answer for answer in mark.partition(":")[2].split(",") if answer]


def compared(shown, effects):
    """A command's line, made comparable with those above."""
    marks = [mark["mark"] for mark in effects if mark["command"] == shown["command"]]
    shown = {"asks": None, "state": None, **shown}
    shown["effects"] = sorted(marks) if shown["outcome"] == "raced" else marks
    if "shows" not in shown:
        shown["shows"] = sorted({answer for mark in shown["state"] or () for answer in answers_in(mark)})
    return shown


def same(wanted, shown):
    return all(shown.get(key) == value for key, value in wanted.items())


def right(wanted, shown):
    wanted = dict(wanted)
    hidden, most = wanted.pop("hides", None), wanted.pop("shows", None)
    return same(wanted, shown) and hidden not in shown["shows"] and (most is None or set(shown["shows"]) <= set(most))


def said(shown):
    keys = ("outcome", "effects", "asks", "state", "recorded", "error")
    return ", ".join(f"{key} {shown[key]}" for key in keys if shown.get(key) is not None)


LIMIT = 120  # seconds a process may take before it counts as hung


def main():
    try:
        run_process("process_1", [1])
        run_process("process_2", [2])
        run_process("process_3", [3])
    except subprocess.TimeoutExpired:
        return cannot_tell("a process hung")
    effects = read("effects")
    shown = {line["command"]: compared(line, effects) for line in read("shown")}
    for number, seen in SEEN.items():
        if number not in shown:
            return cannot_tell(f"command {number} was not reached")
        if number != 3 and not same(seen, shown[number]):
            return cannot_tell(f"command {number} shows {said(shown[number])}")
    last = shown[3]
    if same(SEEN[3], last):
        print(f"reproduces: {said(last)}; right would be: {said(RIGHT[0])}", flush=True)
        return 1
    if any(right(one, last) for one in RIGHT) and not last.get("stumbled"):
        print(f"no longer reproduces: {said(last)}", flush=True)
        return 0
    return cannot_tell(f"neither what was seen nor right: {said(last)}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        FOLDER = Path(sys.argv[1])
        globals()[sys.argv[2]]()
    else:
        with tempfile.TemporaryDirectory() as folder:
            FOLDER = Path(folder)
            sys.exit(main())
