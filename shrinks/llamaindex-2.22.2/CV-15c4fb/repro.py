# /// script
# requires-python = ">=3.11"
# dependencies = ["llama-index-workflows==2.22.2"]
# ///
"""llamaindex: continued from a damaged store

Seen on llama-index-workflows 2.22.2 (idiom=events store=snapshot policy=step save=sync input=declared).

1. start
2. tamper(dropped-field)
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

import asyncio
import selectors

from pydantic import BaseModel
from workflows import Context, Workflow, step
from workflows.events import (
    Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StepState, StepStateChanged, StopEvent,
)


class State(BaseModel):
    marks: list[str] = []
    asked: str = ""
    answers: dict[str, str] = {}


class Begin(StartEvent):
    topic: str


class Task2(Event):
    """Task 2 is next."""


class Task3(Event):
    """Task 3 is next."""


class Answer2_1(HumanResponseEvent):
    """The answer to question 2.1."""


class Tasks(Workflow):
    @step
    async def task_1(self, ctx: Context[State], ev: Begin) -> Task2:
        await work(ctx, 1)
        return Task2()

    @step
    async def ask_2(self, ctx: Context[State], ev: Task2) -> InputRequiredEvent:
        return await ask(ctx, "2.1")

    @step
    async def answered_2_1(self, ctx: Context[State], ev: Answer2_1) -> Task3:
        async with ctx.store.edit_state() as state:
            state.answers["2.1"] = ev.response
        await work(ctx, 2, state.answers["2.1"])
        return Task3()

    @step
    async def task_3(self, ctx: Context[State], ev: Task3) -> StopEvent:
        return StopEvent(result=await work(ctx, 3))


async def ask(ctx, question):
    async with ctx.store.edit_state() as state:
        state.asked = question
    return InputRequiredEvent(prefix=question)


async def work(ctx, task, *answers):
    mark = effect(task, *answers)
    async with ctx.store.edit_state() as state:
        state.marks = [*state.marks, mark]
        state.asked = ""
    return state.marks


# ---- What the caller keeps: the newest snapshot, in a file that is replaced as a whole.


def save(snapshot):
    part = FOLDER / f"snapshot.{os.getpid()}"
    part.write_text(json.dumps(snapshot))
    part.replace(FOLDER / "snapshot.json")


def load(workflow):
    path = FOLDER / "snapshot.json"
    return Context.from_dict(workflow, json.loads(path.read_text())) if path.exists() else None


def damage():
    path = FOLDER / "snapshot.json"
    snapshot = json.loads(path.read_text())
    del snapshot["workers"]  # where the run stands
    path.write_text(json.dumps(snapshot))


# ---- The caller: the documentation's loop over the handler's events, and a call for each command.


class Quiet(selectors.DefaultSelector):
    """It is asked to wait when the event loop has nothing left to run: the run is parked then, and no timer has to tell."""

    told = None

    def select(self, timeout=None):
        if timeout != 0 and self.told and not self.told.done():
            self.told.set_result(None)
            timeout = 0
        return super().select(timeout)


QUIET = Quiet()


class Run:
    def __init__(self):
        self.workflow = Tasks(timeout=None)
        self.loop = asyncio.SelectorEventLoop(QUIET)
        self.handler = self.reading = None

    async def begin(self):
        return await self.follow(self.workflow.run(start_event=Begin(topic="go")))

    async def recover(self):
        return await self.follow(self.restored())

    def restored(self):
        ctx = load(self.workflow)
        return None if ctx is None else self.workflow.run(ctx=ctx)

    async def follow(self, handler):
        """The result, or None where nothing is left to run without an answer."""
        if handler is None:
            return refused("nothing of this run was kept")
        if handler is not self.handler:
            self.handler, self.reading = handler, asyncio.create_task(self.read(handler))
        QUIET.told = self.loop.create_future()
        await asyncio.wait({self.reading, QUIET.told}, return_when=asyncio.FIRST_COMPLETED)
        if not self.reading.done():
            return None
        try:
            await self.reading
            return await handler
        except Exception:
            self.handler = None  # what is left of a run that failed is what was kept of it
            raise

    async def read(self, handler):
        async for event in handler.stream_events(expose_internal=True):
            if isinstance(event, StepStateChanged) and event.step_state == StepState.NOT_RUNNING:
                save(handler.ctx.to_dict())


def open_run():
    return Run()


def told(run, call):
    reply = run.loop.run_until_complete(call)
    if isinstance(reply, dict):
        return reply
    if reply is not None:
        return {"outcome": "completed", "state": reply}
    state = run.loop.run_until_complete(run.handler.ctx.store.get_state())
    asks = [state.asked] if state.asked else []
    return {"outcome": "parked" if asks else "idle", "asks": asks, "state": state.marks}


# ---- The commands. Each function is a process of its own; they run one after the other.


def process_1():
    # start
    command(1, lambda run: run.begin())


def process_2():
    # tamper(dropped-field)
    tamper(2, lambda: damage())


def process_3():
    # recover
    command(3, lambda run: run.recover())


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
