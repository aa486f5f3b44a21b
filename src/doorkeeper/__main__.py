"""`python -m doorkeeper`."""

from doorkeeper.cli import main

main()
