"""What every script has to be, whichever framework it is for; nothing of it is run."""

import subprocess
import sys

from fuzzresume.campaign.gallery import gallery, reports
from fuzzresume.contract.words import say_commands
from fuzzresume.repro.script import script

WIDTH = 125
"""Columns of a line, at most."""


def shipped(target):
    """The traces of a target that ship with the package, each under a name of its own."""
    traces = [trace for trace in (*gallery(), *reports().values()) if trace.target == target]
    return {f"{number}-{trace.found.id}": trace for number, trace in enumerate(traces)}


def require_sound(traces, folder):
    """Each trace has a script that compiles, says each of its commands, and needs nothing but the framework.

    They are written to `folder`, and ruff finds nothing unused or undefined in any. Returns them by the traces' names.
    """
    sources = {name: script(trace) for name, trace in traces.items()}
    for name, source in sources.items():
        compile(source, name, "exec")
        assert "fuzzresume" not in source, name
        assert "time.sleep" not in source and "asyncio.sleep" not in source, name
        assert max(map(len, source.splitlines())) <= WIDTH, name
        trace = traces[name]
        for command, words in zip(trace.commands, say_commands(trace.workload, trace.commands), strict=True):
            assert command.op == "reload" or f"    # {words}\n" in source, (name, words)
        (folder / f"{name}.py").write_text(source)
    line = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F", str(folder)]
    checked = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return sources
