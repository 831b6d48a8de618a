"""`python -m cdesearch`."""

from cdesearch.cli import main

main()
