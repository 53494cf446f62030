"""The command line for tests: real processes that do not import it anew each time.

`python -m fuzzresume` takes a second to import what it consists of, mostly more than the command itself. So one process
imports it and nothing else, and each command is a fork of it: with its own exit code, working directory, environment and
streams, through the entry point that users call. What is about the imports, the interpreter or signals is tested with
`python -m fuzzresume`, and so are the README's commands, in test_readme.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO

WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class CommandLine:
    """The process that has imported the command line, in a group of its own; ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self._end)

    def call(
        self, words: list[str], cwd: Path, environment: Mapping[str, str], timeout: float, place: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run one command and wait for it; `place` gets what it prints."""
        out, err = place / "out", place / "err"
        wanted = [words, str(cwd), dict(environment), str(out), str(err)]
        sent, told = self._process.stdin, self._process.stdout
        assert sent is not None and told is not None
        print(json.dumps(wanted), file=sent, flush=True)
        if not select.select([told], [], [], timeout)[0]:
            self._end()
            raise subprocess.TimeoutExpired(words, timeout, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(words, json.loads(told.readline()), out.read_text(), err.read_text())

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        command_line.cache_clear()


@cache
def command_line() -> CommandLine:
    """The one of this process."""
    return CommandLine()


def run(
    *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """`fuzzresume` with these words, and with `env` beside this process's environment."""
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, **(env or {})}
        return command_line().call(list(map(str, words)), cwd or Path.cwd(), environment, timeout, Path(place))


def serve() -> None:
    """Fork a command for every line, and tell how it ended."""
    import fuzzresume.cli

    # Most of the commands that load a framework load this one.
    with contextlib.suppress(ImportError):
        import fuzzresume.adapters.langgraph  # noqa: F401

    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            become(*json.loads(line))
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(words: list[str], cwd: str, environment: dict[str, str], out: str, err: str) -> None:
    """Turn this process into one command."""
    code: object = 1
    try:
        for number, (name, flags) in enumerate(((os.devnull, os.O_RDONLY), (out, WRITTEN), (err, WRITTEN))):
            os.dup2(os.open(name, flags, 0o600), number)
        # As the interpreter does it: what replaces one of these must not close it.
        sys.stdin = sys.__stdin__ = stream(0, "r")
        sys.stdout = sys.__stdout__ = stream(1, "w")
        sys.stderr = sys.__stderr__ = stream(2, "w")
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["fuzzresume", *words]
        from fuzzresume.__main__ import main

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def stream(number: int, mode: str) -> IO[str]:
    return open(number, mode, encoding="utf-8", closefd=False)


if __name__ == "__main__":
    serve()
