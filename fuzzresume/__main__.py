"""`python -m fuzzresume` is the `fuzzresume` command."""

from fuzzresume.cli import main

main()
