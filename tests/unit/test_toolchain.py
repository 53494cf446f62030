"""Running TLC: what is stopped is stopped, however early."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fuzzresume.formal.toolchain import Running, TlcError


def test_a_stop_while_a_process_starts_kills_it(tmp_path, monkeypatch):
    """The interrupt comes when the process is there and nobody has entered it yet."""
    started, stopping = threading.Event(), threading.Event()
    os.mkfifo(tmp_path / "never-written")

    real = subprocess.Popen

    def popen(*args, **kwargs):
        process = real(*args, **kwargs)
        started.set()
        stopping.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    running = Running()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(running.output, ["cat", "never-written"], tmp_path)
        started.wait()
        stopping.set()
        running.stop()
        assert ended.result(timeout=60) == (-signal.SIGKILL, "")


def test_nothing_starts_after_a_stop(tmp_path):
    running = Running()
    running.stop()
    with pytest.raises(TlcError):
        running.output(["touch", "ran"], tmp_path)
    assert not (tmp_path / "ran").exists()


LATE = """
import signal, threading
from fuzzresume.formal.toolchain import outcome, side_by_side

awaited, ended = threading.Event(), threading.Event()

def interrupt():
    awaited.wait()
    signal.raise_signal(signal.SIGINT)

with side_by_side(2) as (pool, _):
    future = pool.submit(ended.wait)
    # What another thread takes does not wake the main one, and neither does what comes in the moment before it blocks.
    pool.submit(interrupt)
    try:
        awaited.set()
        outcome(future)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        ended.set()
"""


def test_a_signal_that_does_not_wake_the_main_thread_interrupts_it():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
