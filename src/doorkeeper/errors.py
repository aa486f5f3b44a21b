"""Every exception that Doorkeeper raises on purpose.

    DoorkeeperError
    ├── InputError             what the user gave can't be read; the CLI prints it in one line (exit 3)
    └── FactsError             the committed facts about Kafka are broken: a fault of ours

The rulebook itself does not raise on unlawful names or changes: it returns violations.
"""


class DoorkeeperError(Exception):
    """Root of the family."""


class InputError(DoorkeeperError):
    """A file, an option or a text that can't be understood; the message names it."""


class FactsError(DoorkeeperError):
    """The facts about a Kafka version are missing or contradict themselves."""
