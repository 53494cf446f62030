"""What Hypothesis keeps for itself lies with the run's own files, and whose process it is keeps its own place."""

import os
import subprocess
import sys

import pytest
from hypothesis.configuration import storage_directory

from fuzzresume.campaign.random_phase import storage_in


def test_a_campaign_leaves_nothing_of_it_in_the_working_directory(tmp_path):
    line = [sys.executable, "-m", "fuzzresume", "fuzz", "reference", "--max-runs", "12", "--phases", "random", "--no-tlc"]
    environment = {name: value for name, value in os.environ.items() if name != "HYPOTHESIS_STORAGE_DIRECTORY"}
    subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert os.listdir(tmp_path) == [".fuzzresume"]
    assert os.listdir(tmp_path / ".fuzzresume") == ["corpus.db"]


def test_tests_of_the_same_process_keep_their_storage(tmp_path):
    before = storage_directory("examples").path
    with pytest.raises(KeyboardInterrupt), storage_in(tmp_path):
        assert storage_directory("examples").path == tmp_path / "examples"
        raise KeyboardInterrupt
    assert storage_directory("examples").path == before
