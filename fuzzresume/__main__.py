"""`fuzzresume` and `python -m fuzzresume` are one command."""

import signal


def main() -> None:
    """Run the command line. A Ctrl-C while it is still being imported ends the process at once: there is nothing to keep."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fuzzresume.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
