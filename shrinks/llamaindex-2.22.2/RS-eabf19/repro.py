# /// script
# requires-python = ">=3.11"
# dependencies = ["llama-index-workflows==2.22.2"]
# ///
"""llamaindex: restart is none of its legal things

Seen on llama-index-workflows 2.22.2 (idiom=wait store=snapshot policy=step save=sync input=declared).

1. start
2. resume(a, gate 2), exception at effect.before:2
3. restart

expected  completed; effects: 2(a), 3; final state: 1, 2(a), 3; frontier: {1, 2, 3} — or — idle; effects: none;
          frontier: {1} — or — refused; effects: none; frontier: {1}
observed  completed; effects: 2(a), 1, 3; final state: 1, 2(a), 1, 3; frontier: {1, 3}; durable tasks entered again: {1}

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
from workflows.plugins.basic import basic_runtime
from workflows.runtime.runtime_decorators import BaseInternalRunAdapterDecorator, BaseRuntimeDecorator


class State(BaseModel):
    marks: list[str] = []


class Begin(StartEvent):
    topic: str


class Task2(Event):
    """Task 2 is next."""


class Task3(Event):
    """Task 3 is next."""


class Tasks(Workflow):
    @step
    async def task_1(self, ctx: Context[State], ev: Begin) -> Task2:
        await work(ctx, 1)
        return Task2()

    @step
    async def task_2(self, ctx: Context[State], ev: Task2) -> Task3:
        answer_2_1 = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_event=InputRequiredEvent(prefix="2.1"),
            waiter_id="2.1",
            requirements={"question": "2.1"},
            timeout=None,
        )
        await work(ctx, 2, answer_2_1.response)
        return Task3()

    @step
    async def task_3(self, ctx: Context[State], ev: Task3) -> StopEvent:
        return StopEvent(result=await work(ctx, 3))


async def work(ctx, task, *answers):
    mark = effect(task, *answers)
    async with ctx.store.edit_state() as state:
        state.marks = [*state.marks, mark]
    return state.marks


# ---- What the caller keeps: the newest snapshot, in a file that is replaced as a whole.


def save(snapshot):
    part = FOLDER / f"snapshot.{os.getpid()}"
    part.write_text(json.dumps(snapshot))
    part.replace(FOLDER / "snapshot.json")


def load(workflow):
    path = FOLDER / "snapshot.json"
    return Context.from_dict(workflow, json.loads(path.read_text())) if path.exists() else None


# ---- Several steps are in work at once. Of those that have finished the framework takes one by its address in memory; here
# ---- they are taken by their names, so that this shows the same each time.


class InOrder(BaseRuntimeDecorator):
    def get_internal_adapter(self, workflow):
        return RunInOrder(super().get_internal_adapter(workflow))


class RunInOrder(BaseInternalRunAdapterDecorator):
    async def wait_for_next_task(self, running, pending, timeout=None):
        running = sorted(running, key=lambda task: (not hasattr(task, "worker_id"), task.key))
        return await super().wait_for_next_task(running, pending, timeout)


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
        self.workflow = Tasks(timeout=None, runtime=InOrder(basic_runtime))
        self.loop = asyncio.SelectorEventLoop(QUIET)
        self.handler = self.reading = None

    async def begin(self):
        ctx = self.handler.ctx if self.handler else load(self.workflow)
        return await self.follow(self.workflow.run(ctx=ctx, start_event=Begin(topic="go")))

    async def answer(self, event):
        handler = self.handler or self.restored()
        if handler is not None:
            handler.ctx.send_event(event)
        return await self.follow(handler)

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
    workers = run.handler.ctx.to_dict()["workers"].values()
    waiters = [waiter for worker in workers for waiter in worker["collected_waiters"]]
    asks = sorted(waiter["waiter_id"] for waiter in waiters if waiter["resolved_event"] is None)
    return {"outcome": "parked" if asks else "idle", "asks": asks, "state": state.marks}


# ---- The commands. They are sent by one process.


def process_1():
    # start
    command(1, lambda run: run.begin())
    # resume(a, gate 2), exception at effect.before:2
    command(2, lambda run: run.answer(HumanResponseEvent(response="a", question="2.1")), fails_at=("effect.before:2", 1))
    # restart
    command(3, lambda run: run.begin())


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"]},
    2: {"outcome": "crashed", "effects": []},
    3: {"outcome": "completed", "effects": ["2:a", "1", "3"], "state": ["1", "2:a", "1", "3"]},
}
RIGHT = [
    {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "2:a", "3"]},
    {"outcome": "parked", "effects": ["1"], "asks": ["2.1"]},
    {"outcome": "refused", "effects": []},
    {"outcome": "idle", "effects": []},
    {"outcome": "parked", "effects": [], "asks": ["2.1"]},
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
    if (point, PASSED[point]) == PLANTED.get("fails_at"):
        PLANTED["failed"] = True
        raise RuntimeError("the task fails")


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
