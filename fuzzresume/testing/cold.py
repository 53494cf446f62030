"""A run in a fresh process, the first that it executes: nothing is imported, built or cached there yet.

`python -m fuzzresume.testing.cold` reads one request on its standard input and writes what was seen on its standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fuzzresume
from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.plain import from_plain, to_plain
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target, TargetError, resolve, spec_of
from fuzzresume.testing.result import Fails, Inapplicable, Undetermined

PATIENCE = 120.0
"""Seconds that a fresh process may take, its imports included."""


def run_cold(target: Target, workload: Workload, commands: Sequence[Command]) -> list[Observation]:
    """What a trace shows in a fresh process.

    Raises Inapplicable for an adapter that no other process can import, Fails when the process breaks, and Undetermined
    when it does not come back.
    """
    try:
        spec = spec_of(target.adapter)
    except TargetError as error:
        raise Inapplicable(str(error)) from error
    request = {
        "path": sys.path, "adapter": spec, "options": dict(target.options), "workload": to_plain(workload),
        "commands": to_plain(list(commands)),
    }  # fmt: skip
    root = str(Path(fuzzresume.__file__).parent.parent)
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fuzzresume.testing.cold"],
            input=json.dumps(request), capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Undetermined(f"a fresh process did not come back within {PATIENCE:g} s") from error
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Fails(f"a fresh process breaks: {words[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "unsupported" in answer:
        raise Inapplicable(answer["unsupported"])
    return [from_plain(Observation, seen) for seen in answer["seen"]]


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Execute the request's trace in this process."""
    sys.path.extend(path for path in request["path"] if path not in sys.path)
    target = Target(resolve(request["adapter"]), request["options"])
    workload = from_plain(Workload, request["workload"])
    commands = [from_plain(Command, sent) for sent in request["commands"]]
    with tempfile.TemporaryDirectory(prefix="fuzzresume-") as folder:
        try:
            with open_session(target, workload, Path(folder) / "run") as session:
                return {"seen": [to_plain(session.execute(command)) for command in commands]}
        except Unsupported as reason:
            return {"unsupported": str(reason)}


if __name__ == "__main__":
    print(json.dumps(serve(json.load(sys.stdin))))
