"""An interrupt is never lost, wherever the signal meets the process: later ones are ignored."""

import subprocess
import sys

import pytest

WHERE = {
    "plain code": "os.kill(os.getpid(), signal.SIGTERM)",
    "a callback of the garbage collector": "gc.callbacks.append(once); gc.collect()",
    "the first of two callbacks": "gc.callbacks += [once, lambda phase, info: None]; gc.collect()",
    "a destructor": "Dies()",
}
CODE = """
import gc, os, signal
from fuzzresume.cli_signals import listen

def once(phase, info):
    gc.callbacks.remove(once)
    os.kill(os.getpid(), signal.SIGTERM)

class Dies:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def goes_on():
    return "went on"

listen()
try:
    {where}
    print(goes_on())
except KeyboardInterrupt:
    os.kill(os.getpid(), signal.SIGINT)
    print(goes_on(), "to its report")
"""


@pytest.mark.parametrize("where", WHERE)
def test_the_first_signal_interrupts_and_no_other(where):
    code = CODE.format(where=WHERE[where])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on to its report\n", "")


def test_any_other_exception_in_a_destructor_is_shown():
    code = (
        "from fuzzresume.cli_signals import listen\nlisten()\nclass Odd:\n    def __del__(self): 1 / 0\nOdd()\nprint('on')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "on\n" and "ZeroDivisionError" in done.stderr
