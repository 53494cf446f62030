# /// script
# requires-python = ">=3.11"
# dependencies = ["crewai==1.15.2"]
# ///
"""crewai: a durable effect fired again

Seen on crewai 1.15.2 (plane=persist state=structured recover=check answer=pending executor=inline).

1. start, killed at save_state.after
2. recover

expected  parked at question 2.1; effects: none; frontier: {1} — or — refused; effects: none; frontier: {1}
observed  parked at question 2.1; effects: 1; frontier: {1}; durable tasks entered again: {1}

Task t asks question t.1, then t.2, where it asks any, and then fires its effect; a, b, c are answers. Run this with
`uv run repro.py`, or with the packages above installed: exit code 1 while it reproduces, 0 when it no longer does, 3 when it
cannot tell.
"""

import errno
import json
import os
import signal
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

import sqlite3

# Before CrewAI is imported: it is to send nothing, and to ask nothing at the terminal.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, persist, start
from crewai.flow.persistence.sqlite import SQLiteFlowPersistence
from pydantic import BaseModel


class State(BaseModel):
    marks: list[str] = []
    order: str = ""


class SomewhereElse:
    """Asks a human who will answer later: the flow pauses until then."""

    def request_feedback(self, context, flow):
        raise HumanFeedbackPending(context=context)


class Run(Flow[State]):
    _skip_auto_memory = True  # which would load an embedding store

    @start()
    def task_1(self):
        mark = effect(1)
        self.state.marks = [*self.state.marks, mark]
        return mark

    @listen(task_1)
    @human_feedback(message="2.1", llm=None, provider=SomewhereElse())
    def ask_2_1(self):
        return "2.1"

    @listen(ask_2_1)
    def task_2(self, human):
        mark = effect(2, human.feedback)
        self.state.marks = [*self.state.marks, mark]
        return mark

    @listen(task_2)
    def task_3(self):
        mark = effect(3)
        self.state.marks = [*self.state.marks, mark]
        return mark


class Store(SQLiteFlowPersistence):
    persistence_type: str = "Store"

    def save_state(self, *args, **kwargs):
        found = super().save_state(*args, **kwargs)
        reach("save_state.after")
        return found


def store():
    return Store(str(FOLDER / "flows.db"))


def open_run():
    return persist(store())(Run)  # as the decorator @persist does, once it is known where the file is


def kickoff(run):
    flow = run(persistence=store())
    return flow, flow.kickoff(inputs={"id": "run", "order": "go"})


def recover(run):
    """By the flow's id, unless a question is pending, which is then asked again."""
    if store().load_pending_feedback("run") is not None:
        flow = run.from_pending("run", store())
        return flow, HumanFeedbackPending(context=flow.pending_feedback)
    flow = run(persistence=store())
    return flow, flow.kickoff(inputs={"id": "run"})


def recorded():
    """The tasks in the newest state stored."""
    with sqlite3.connect(FOLDER / "flows.db") as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'flow_states'").fetchall():
            return []
        newest = database.execute("SELECT state_json FROM flow_states ORDER BY id DESC LIMIT 1").fetchone()
    state = json.loads(newest[0]) if newest else {"marks": []}
    return sorted({int(mark.partition(":")[0]) for mark in state["marks"]})


def told(run, reply):
    flow, result = reply
    state = flow.state.marks
    if isinstance(result, HumanFeedbackPending):
        return {"outcome": "parked", "asks": [result.context.message], "state": state}
    return {"outcome": "completed", "state": state}


# ---- The commands. Each function is a process of its own; they run one after the other.


def process_1():
    # start, killed at save_state.after
    command(1, lambda run: kickoff(run), dies_at=("save_state.after", 1))


def process_2():
    # recover
    command(2, lambda run: recover(run))


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "crashed", "effects": ["1"], "recorded": [1]},
    2: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"], "recorded": [1]},
}
RIGHT = [
    {"outcome": "parked", "effects": [], "asks": ["2.1"], "recorded": [1]},
    {"outcome": "refused", "effects": [], "recorded": [1]},
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
    if (point, PASSED[point]) == PLANTED.get("dies_at"):
        os.kill(os.getpid(), signal.SIGKILL)


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
    write("shown", {**planted, **shown, "command": number, "recorded": read_store()})


def stumbled(error):
    """Whether a line of this script raised it, or the disk is in trouble: that is no refusal."""
    trace, words = error.__traceback__, f"{error} {error.__cause__}".lower()
    while trace.tb_next:
        trace = trace.tb_next
    here = trace.tb_frame.f_code.co_filename == __file__
    troubles = ("database is locked", "table is locked", "no space left", "disk is full", "disk full")
    return here or getattr(error, "errno", None) == errno.ENOSPC or any(trouble in words for trouble in troubles)


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


def read_store():
    """By a process of its own, which knows nothing but the store."""
    said = spawn("print_recorded").communicate(timeout=LIMIT)[0]
    return json.loads(said.splitlines()[-1])


def print_recorded():
    print(json.dumps(recorded()))


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
            write("shown", {"command": number, "outcome": "crashed", "recorded": read_store()})
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
    except subprocess.TimeoutExpired:
        return cannot_tell("a process hung")
    effects = read("effects")
    shown = {line["command"]: compared(line, effects) for line in read("shown")}
    for number, seen in SEEN.items():
        if number not in shown:
            return cannot_tell(f"command {number} was not reached")
        if number != 2 and not same(seen, shown[number]):
            return cannot_tell(f"command {number} shows {said(shown[number])}")
    last = shown[2]
    if same(SEEN[2], last):
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
