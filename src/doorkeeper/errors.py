"""Every exception that Doorkeeper raises on purpose.

    DoorkeeperError
    ├── InputError             what the user gave can't be read; the CLI prints it in one line (exit 3)
    ├── FactsError             the committed facts about Kafka are broken: a fault of ours
    ├── RecordError            bytes that are no record batch, or no record of the type they claim
    │   └── TornBatchError     the bytes end before the batch does: the tail of an interrupted write
    ├── ReplayError            a metadata record contradicts the image that it is replayed on
    ├── StorageError           the disk, or what is on it, does not let us go on
    │   └── DirectoryLockedError   another process holds the directory
    ├── client.errors.KafkaError   a cluster's answer with an error code; one class per code, in its own tree there
    ├── NetworkError           the peer can't be reached, went away, or is silent; asking again may help
    └── ProtocolError          bytes or calls that break Kafka's protocol; never raised as itself
        ├── RemoteProtocolError    the peer's fault: the connection is closed, or answered with `error_code_hint`
        └── LocalProtocolError     ours: a message that can't be written, a call out of order

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


class ReplayError(DoorkeeperError):
    """A metadata record contradicts the image that it is replayed on: the log is not what its writer decided."""


class StorageError(DoorkeeperError):
    """The disk, or what is on it, does not let us go on; the message names the path.

    Clients get `told` instead: where the files of a node lie is none of their business.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        """:param reason: the system's own words, such as "No space left on device"."""
        super().__init__(message)
        self.reason = reason

    @property
    def told(self) -> str:
        return "The storage of this node fails" + (f": {self.reason}" if self.reason else "")


class DirectoryLockedError(StorageError):
    """Another process holds the directory."""


class NetworkError(DoorkeeperError):
    """A peer that can't be reached, went away, or did not answer in time; the message names it."""


class ProtocolError(DoorkeeperError):
    """Kafka's protocol is broken; see which of the two children says by whom."""

    def __init__(self, reason: str) -> None:
        if type(self) is ProtocolError:
            raise TypeError("raise RemoteProtocolError or LocalProtocolError")
        super().__init__(reason)
        self.reason = reason


class RemoteProtocolError(ProtocolError):
    """The peer sent what can't be read; `error_code_hint` is the Kafka code to answer with, where one can."""

    def __init__(self, reason: str, error_code_hint: int | None = None) -> None:
        super().__init__(reason)
        self.error_code_hint = error_code_hint


class LocalProtocolError(ProtocolError):
    """We asked for something that the protocol can't say, or in the wrong state."""
