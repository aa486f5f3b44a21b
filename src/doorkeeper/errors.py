"""Every exception that Doorkeeper raises on purpose.

    DoorkeeperError
    ├── InputError             what the user gave can't be read; the CLI prints it in one line (exit 3)
    ├── FactsError             the committed facts about Kafka are broken: a fault of ours
    ├── RecordError            bytes that are no record batch, or no record of the type they claim
    │   ├── TornBatchError     the bytes end before the batch does: the tail of an interrupted write
    │   └── UnsupportedCompressionError   the batch is compressed with a codec that is not installed
    ├── ReplayError            a metadata record contradicts the image that it is replayed on
    └── StorageError           the disk, or what is on it, does not let us go on
        └── DirectoryLockedError   another process holds the directory

The rulebook itself does not raise on unlawful names or changes: it returns violations.
"""


class DoorkeeperError(Exception):
    """Root of the family."""


class InputError(DoorkeeperError):
    """A file, an option or a text that can't be understood; the message names it."""


class FactsError(DoorkeeperError):
    """The facts about a Kafka version are missing or contradict themselves."""


class RecordError(DoorkeeperError):
    """Bytes that are no record batch, or no record of the type they claim; the message says which part."""


class TornBatchError(RecordError):
    """The bytes end before the batch does: what an interrupted write leaves behind."""


class UnsupportedCompressionError(RecordError):
    """A lawful batch that can't be opened, because its codec is not installed."""


class ReplayError(DoorkeeperError):
    """A metadata record contradicts the image that it is replayed on: the log is not what its writer decided."""


class StorageError(DoorkeeperError):
    """The disk, or what is on it, does not let us go on; the message names the path."""


class DirectoryLockedError(StorageError):
    """Another process holds the directory."""
