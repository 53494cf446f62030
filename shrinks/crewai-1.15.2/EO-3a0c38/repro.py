# /// script
# requires-python = ">=3.11"
# dependencies = ["crewai==1.15.2"]
# ///
"""crewai: a durable effect fired again on a fork

Seen on crewai 1.15.2 (plane=checkpoint state=structured recover=check answer=pending executor=inline).

1. start
2. resume(a, gate 2 question 1)
3. fork(b, gate 2 question 2), killed at checkpoint.after

expected  crashed; effects: none; frontier: {1} — or — crashed; effects: 2(a, b); frontier: {1} — or — crashed; effects:
          2(a, b), 3; frontier: {1}
observed  crashed; effects: 1; frontier: {1}; durable tasks entered again: {1}

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

from concurrent.futures import Future

# Before CrewAI is imported: it is to send nothing, and to ask nothing at the terminal.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

from crewai import CheckpointConfig
from crewai.events import crewai_event_bus
from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, start
from crewai.flow.persistence.factory import set_flow_persistence_factory
from crewai.flow.persistence.sqlite import SQLiteFlowPersistence
from crewai.state.provider.json_provider import JsonProvider
from pydantic import BaseModel


class State(BaseModel):
    marks: list[str] = []
    order: str = ""
    answers: dict[str, str] = {}


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
    @human_feedback(message="2.2", llm=None, provider=SomewhereElse())
    def ask_2_2(self, human):
        self.state.answers = {**self.state.answers, "2.1": human.feedback}
        return "2.2"

    @listen(ask_2_2)
    def task_2(self, human):
        mark = effect(2, self.state.answers["2.1"], human.feedback)
        self.state.marks = [*self.state.marks, mark]
        return mark

    @listen(task_2)
    def task_3(self):
        mark = effect(3)
        self.state.marks = [*self.state.marks, mark]
        return mark


def store():
    return SQLiteFlowPersistence(str(FOLDER / "flows.db"))


set_flow_persistence_factory(store)  # pending questions go there; without a factory into a file of the user's


class AtOnce:
    """Stands for the event bus's pool of threads, which would write each checkpoint while the flow goes on.

    So each execution of this script writes the same checkpoints.
    """

    @staticmethod
    def submit(handler, *args):
        future = Future()
        future.set_result(handler(*args))
        return future

    @staticmethod
    def shutdown(wait):
        pass


crewai_event_bus._ensure_executor_initialized()
crewai_event_bus._sync_executor = AtOnce


class Checkpoints(JsonProvider):
    """Keeps in mind which checkpoint is the newest: their names tell whole seconds."""

    def checkpoint(self, data, *args, **kwargs):
        location = super().checkpoint(data, *args, **kwargs)
        remember("newest", location)
        states = [one["checkpoint_state"] for one in json.loads(data)["entities"] if one["entity_type"] == "flow"]
        remember("flow", [state["id"] for state in states if state][-1])
        reach("checkpoint.after")
        return location


def config(restore_from=None):
    events, kept = ["method_execution_finished", "flow_paused"], Checkpoints()
    return CheckpointConfig(location=str(FOLDER / "checkpoints"), on_events=events, provider=kept, restore_from=restore_from)


def open_run():
    return Run


def kickoff(run):
    flow = run(checkpoint=config())
    return flow, flow.kickoff(inputs={"id": "run", "order": "go"})


def resume(run, answer):
    return answered(run, recall("flow"), answer)


def answered(run, flow_id, answer):
    flow = run.from_pending(flow_id, checkpoint=config())
    return flow, flow.resume(answer)


def fork(run, question, answer):
    """From the checkpoint at which the question was asked; there it is asked again."""
    flow = run.fork(config(recall(question)), branch="fork")
    flow.checkpoint = config()
    result = flow.kickoff()
    return answered(run, flow.flow_id, answer) if isinstance(result, HumanFeedbackPending) else (flow, result)


def told(run, reply):
    flow, result = reply
    state = flow.state.marks
    if isinstance(result, HumanFeedbackPending):
        remember(result.context.message, recall("newest"))
        return {"outcome": "parked", "asks": [result.context.message], "state": state}
    return {"outcome": "completed", "state": state}


# ---- The commands. They are sent by one process.


def process_1():
    # start
    command(1, lambda run: kickoff(run))
    # resume(a, gate 2 question 1)
    command(2, lambda run: resume(run, "a"))
    # fork(b, gate 2 question 2), killed at checkpoint.after
    command(3, lambda run: fork(run, "2.2", "b"), dies_at=("checkpoint.after", 1))


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"]},
    2: {"outcome": "parked", "effects": [], "asks": ["2.2"]},
    3: {"outcome": "crashed", "effects": ["1"]},
}
RIGHT = [
    {"outcome": "crashed", "effects": []},
    {"outcome": "crashed", "effects": ["2:a,b"]},
    {"outcome": "crashed", "effects": ["2:a,b", "3"]},
    {"outcome": "refused", "effects": []},
    {"outcome": "completed", "effects": ["2:a,b", "3"], "state": ["1", "2:a,b", "3"]},
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
    write("shown", {**planted, **shown, "command": number})


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


def remember(key, text):
    write("notes", {"key": key, "text": text})


def recall(key):
    return [note["text"] for note in read("notes") if note["key"] == key][-1]


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
        run_process("process_1", [1, 2, 3])
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
