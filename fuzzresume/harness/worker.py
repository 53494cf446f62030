"""The worker's end of the pipe: one process, one life or one crew of racers, real SIGKILL; and the wire format of both ends.

A message is a four-byte big-endian length and that many bytes of JSON: plain data only, so that a worker of another
environment, version or language can speak it. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzresume.contract.commands import CrashPoint, Unit
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question, Task, Workload
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.calls import Call, Resident
from fuzzresume.harness.env import Env, Unsupported
from fuzzresume.harness.ledger import LedgerWriter
from fuzzresume.harness.target import AdapterSlip

Wire = dict[str, Any]

_LENGTH = struct.Struct(">I")
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Birth:
    """What a worker needs to know to build its life. `unit`: what it is, a racer's process or that of several racers."""

    store: str
    ledger: str
    hooks: str
    options: dict[str, str]
    workload: Workload
    seed: int = 0
    unit: Unit = "processes"

    def to_wire(self) -> Wire:
        """As plain data."""
        tasks = [[task.id, task.questions, list(task.after)] for task in self.workload.tasks]
        return {
            "store": self.store, "ledger": self.ledger, "hooks": self.hooks, "options": dict(self.options),
            "tasks": tasks, "topology": self.workload.topology, "seed": self.seed,
            "unit": self.unit,
        }  # fmt: skip

    @classmethod
    def from_wire(cls, wire: Wire) -> Birth:
        """The inverse of `to_wire`."""
        tasks = tuple(Task(task, questions, tuple(after)) for task, questions, after in wire["tasks"])
        workload = Workload(tasks, wire["topology"])
        plain = {key: wire[key] for key in ("store", "ledger", "hooks", "options", "seed", "unit")}
        return cls(workload=workload, **plain)


def call_to_wire(call: Call) -> Wire:
    """A call as plain data."""
    crash = call.crash
    return {
        "op": call.op, "question": call.question and call.question.text, "answer": call.answer, "address": call.address,
        "branch": call.branch, "crash": crash and [crash.hook, crash.nth, crash.by], "poison": call.poison,
        "gated": call.gated,
    }  # fmt: skip


def call_from_wire(wire: Wire) -> Call:
    """The inverse of `call_to_wire`."""
    question = None if wire["question"] is None else Question.parse(wire["question"])
    crash = None if wire["crash"] is None else CrashPoint(*wire["crash"])
    plain = {key: wire[key] for key in ("op", "answer", "address", "branch", "poison", "gated")}
    return Call(question=question, crash=crash, **plain)


def outcome_to_wire(outcome: Outcome) -> Wire:
    """An outcome as plain data."""
    return {
        "kind": outcome.kind, "asked": [[asked.question.text, asked.address] for asked in outcome.asked],
        "marks": None if outcome.marks is None else [mark.text for mark in outcome.marks], "task": outcome.task,
        "error": outcome.error, "message": outcome.message, "announced": outcome.announced, "address": outcome.address,
        "seconds": outcome.seconds,
    }  # fmt: skip


def outcome_from_wire(wire: Wire) -> Outcome:
    """The inverse of `outcome_to_wire`."""
    marks = None if wire["marks"] is None else tuple(Mark.parse(text) for text in wire["marks"])
    asked = tuple(Asked(Question.parse(text), address) for text, address in wire["asked"])
    plain = {key: wire[key] for key in ("kind", "task", "error", "message", "announced", "address", "seconds")}
    return Outcome(asked=asked, marks=marks, **plain)


def no_outcome(reason: Unsupported | AdapterSlip) -> Wire:
    """Why a call has no outcome, as plain data."""
    return {"slip" if isinstance(reason, AdapterSlip) else "unsupported": str(reason)}


def send(pipe: socket.socket, wire: Wire) -> None:
    """Write one message. Raises OSError when the other end is gone."""
    data = json.dumps(wire, separators=(",", ":")).encode()
    pipe.sendall(_LENGTH.pack(len(data)) + data)


def receive(pipe: socket.socket) -> Wire | None:
    """Read one message; None when the other end is gone. Raises TimeoutError as the socket's timeout says."""
    header = _exactly(pipe, _LENGTH.size)
    body = None if header is None else _exactly(pipe, _LENGTH.unpack(header)[0])
    return None if body is None else json.loads(body)


def serve(pipe: socket.socket, adapter: Adapter, birth: Birth) -> None:
    """Be one life, or a crew of racers, until the controller hangs up: calls in, outcomes out. What goes wrong in the
    harness itself is said."""
    passed = Passing(birth.hooks, pipe)
    env = Env(
        Path(birth.store), birth.options, birth.workload, ledger=LedgerWriter(Path(birth.ledger)), real=True,
        seed=birth.seed, on_hook=passed,
    )  # fmt: skip
    try:
        if birth.unit == "processes":
            _serve_one(pipe, env, Resident(adapter, env), passed)
        else:
            from fuzzresume.harness import crew  # which speaks this module's wire format

            shared = adapter.capabilities(birth.options).shared
            threads = birth.unit == "threads"
            (crew.Threads(pipe, adapter, env, shared) if threads else crew.Coroutines(pipe, adapter, env)).serve()
    except BaseException:
        with contextlib.suppress(OSError):
            send(pipe, {"broken": traceback.format_exc()})
        raise


def _serve_one(pipe: socket.socket, env: Env, resident: Resident, passed: Passing) -> None:
    while (wire := receive(pipe)) is not None:
        call = call_from_wire(wire)
        passed.gated = env.racing = call.gated
        try:
            reply: Wire = {"outcome": outcome_to_wire(resident.perform(call))}
        except (Unsupported, AdapterSlip) as reason:
            reply = no_outcome(reason)
        send(pipe, reply)
    resident.close()


class Passing:
    """Appends each hook's name to a file by one write(2), so that what was passed survives SIGKILL.

    While `gated`, it then says where the life stands and waits until it may go on: `{"go": true}` up to the next hook,
    `{"go": false}` to the end of the call without stopping again.
    """

    def __init__(self, path: str, pipe: socket.socket) -> None:
        self.gated = False
        self._pipe = pipe
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._one_at_a_time = threading.Lock()

    def __call__(self, ordinal: int, name: str) -> None:
        """Append `name`; the signature is that of `Env.on_hook`."""
        os.write(self._fd, name.encode() + b"\n")
        if self.gated:
            with self._one_at_a_time:
                send(self._pipe, {"at": name})
                if (wire := receive(self._pipe)) is None:
                    os._exit(1)  # the controller is gone
                self.gated = wire["go"]


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent ends (Linux; elsewhere the closed pipe ends an idle worker)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _exactly(pipe: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            chunk = pipe.recv(size - len(data))
        except ConnectionResetError:
            return None
        if not chunk:
            return None
        data += chunk
    return bytes(data)
