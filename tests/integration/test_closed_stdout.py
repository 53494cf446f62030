"""Where nobody reads what is printed, a command ends without a word, and never with the exit code for *violated*."""

import os
import subprocess
import sys

import pytest
from report_samples import forked

from fuzzresume.campaign.corpus.database import Corpus

FUZZRESUME = [sys.executable, "-m", "fuzzresume"]


@pytest.fixture
def folder(tmp_path):
    """A folder with a corpus database in it."""
    with Corpus(tmp_path / ".fuzzresume" / "corpus.db") as corpus:
        corpus.add_trace(forked().to_trace())
    return tmp_path


@pytest.mark.parametrize("command", ["corpus list", f"corpus show {forked().id}", "explain FD", "--help", "--version"])
def test_a_pipe_that_its_reader_has_closed(folder, command):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        line = [*FUZZRESUME, *command.split()]
        done = subprocess.run(line, cwd=folder, stdout=pipe, stderr=subprocess.PIPE, timeout=60, env=buffered())
    # What is short enough to be kept back is printed at the end, when the exit code is known.
    assert (done.returncode, done.stderr) == (0 if command == "--version" else 3, b"")


def test_a_standard_output_that_was_closed_before(folder):
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *FUZZRESUME, "corpus", "list"]
    done = subprocess.run(line, cwd=folder, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def buffered():
    """The environment, without what would make Python print everything at once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
