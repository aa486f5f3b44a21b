"""One exception class per error code of Kafka's protocol, named as Kafka's own exceptions are.

    DoorkeeperError
    ├── TlsHandshakeError      node and client do not trust each other, or one of them speaks no TLS; never retried
    └── KafkaError             an answer with an error code; `code`, `name`, `retriable`, `message`
        ├── InvalidRequestError, NotControllerError, ...          one per code of Kafka 4.3.1
        ├── ResourceIdentifierTooLargeError                       KIP-1233, and names that no request can carry
        └── UnknownCodeError                                      a code that neither Kafka 4.3.1 nor we know

Numbers, names, messages and retriability are facts from Kafka's jars: `error_codes.json`, printed by
`tools/kafka/src/ErrorFacts.java`.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, ClassVar, Final

from doorkeeper.errors import DoorkeeperError


def _load_facts() -> dict[int, dict[str, Any]]:
    document = json.loads(resources.files("doorkeeper.client").joinpath("error_codes.json").read_bytes())
    return {fact["code"]: fact for fact in [*document["codes"], *document["doorkeeper"]]}


_FACTS: Final = _load_facts()
_CLASSES: Final[dict[int, type[KafkaError]]] = {}


class KafkaError(DoorkeeperError):
    """The cluster answered with an error code, or would have to."""

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    java_name: ClassVar[str] = "UnknownServerException"
    retriable: ClassVar[bool] = False
    default_message: ClassVar[str] = ""

    def __init_subclass__(cls, *, code: int | None = None) -> None:
        if code is None:
            return
        fact = _FACTS[code]
        cls.code, cls.name, cls.java_name = code, fact["name"], fact["exception"]
        cls.retriable, cls.default_message = fact["retriable"], fact["message"]
        _CLASSES[code] = cls

    def __init__(self, message: str | None = None) -> None:
        self.message = self.default_message if message is None else message
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.name} ({self.code}): {self.message}"


class TlsHandshakeError(DoorkeeperError):
    """No TLS connection can be made: a certificate is not trusted, names another host, or the node speaks no TLS."""


class UnknownCodeError(KafkaError):
    """A code from a newer Kafka; never retried, as Kafka's clients do."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or f"The server answered with the unknown error code {code}.")
        self.unknown_code = code

    def __reduce__(self) -> tuple[type[UnknownCodeError], tuple[int, str]]:
        return UnknownCodeError, (self.unknown_code, self.message)


def error_for(code: int, message: str | None = None) -> KafkaError | None:
    """The exception for a code in an answer; None for 0. Without a message, Kafka's own sentence for it."""
    if code == 0:
        return None
    kind = _CLASSES.get(code)
    return UnknownCodeError(code, message) if kind is None else kind(message)


def raise_for(code: int, message: str | None = None) -> None:
    """Raise the exception for a code in an answer, unless it is 0."""
    error = error_for(code, message)
    if error is not None:
        raise error


class UnknownServerError(KafkaError, code=-1): ...


class OffsetOutOfRangeError(KafkaError, code=1): ...


class CorruptRecordError(KafkaError, code=2): ...


class UnknownTopicOrPartitionError(KafkaError, code=3): ...


class InvalidFetchSizeError(KafkaError, code=4): ...


class LeaderNotAvailableError(KafkaError, code=5): ...


class NotLeaderOrFollowerError(KafkaError, code=6): ...


class RequestTimedOutError(KafkaError, code=7): ...


class BrokerNotAvailableError(KafkaError, code=8): ...


class ReplicaNotAvailableError(KafkaError, code=9): ...


class RecordTooLargeError(KafkaError, code=10): ...


class ControllerMovedError(KafkaError, code=11): ...


class OffsetMetadataTooLargeError(KafkaError, code=12): ...


class NetworkError(KafkaError, code=13): ...


class CoordinatorLoadInProgressError(KafkaError, code=14): ...


class CoordinatorNotAvailableError(KafkaError, code=15): ...


class NotCoordinatorError(KafkaError, code=16): ...


class InvalidTopicError(KafkaError, code=17): ...


class RecordBatchTooLargeError(KafkaError, code=18): ...


class NotEnoughReplicasError(KafkaError, code=19): ...


class NotEnoughReplicasAfterAppendError(KafkaError, code=20): ...


class InvalidRequiredAcksError(KafkaError, code=21): ...


class IllegalGenerationError(KafkaError, code=22): ...


class InconsistentGroupProtocolError(KafkaError, code=23): ...


class InvalidGroupIdError(KafkaError, code=24): ...


class UnknownMemberIdError(KafkaError, code=25): ...


class InvalidSessionTimeoutError(KafkaError, code=26): ...


class RebalanceInProgressError(KafkaError, code=27): ...


class InvalidCommitOffsetSizeError(KafkaError, code=28): ...


class TopicAuthorizationError(KafkaError, code=29): ...


class GroupAuthorizationError(KafkaError, code=30): ...


class ClusterAuthorizationError(KafkaError, code=31): ...


class InvalidTimestampError(KafkaError, code=32): ...


class UnsupportedSaslMechanismError(KafkaError, code=33): ...


class IllegalSaslStateError(KafkaError, code=34): ...


class UnsupportedVersionError(KafkaError, code=35): ...


class TopicExistsError(KafkaError, code=36): ...


class InvalidPartitionsError(KafkaError, code=37): ...


class InvalidReplicationFactorError(KafkaError, code=38): ...


class InvalidReplicaAssignmentError(KafkaError, code=39): ...


class InvalidConfigurationError(KafkaError, code=40): ...


class NotControllerError(KafkaError, code=41): ...


class InvalidRequestError(KafkaError, code=42): ...


class UnsupportedForMessageFormatError(KafkaError, code=43): ...


class PolicyViolationError(KafkaError, code=44): ...


class OutOfOrderSequenceError(KafkaError, code=45): ...


class DuplicateSequenceError(KafkaError, code=46): ...


class InvalidProducerEpochError(KafkaError, code=47): ...


class InvalidTxnStateError(KafkaError, code=48): ...


class InvalidPidMappingError(KafkaError, code=49): ...


class InvalidTxnTimeoutError(KafkaError, code=50): ...


class ConcurrentTransactionsError(KafkaError, code=51): ...


class TransactionCoordinatorFencedError(KafkaError, code=52): ...


class TransactionalIdAuthorizationError(KafkaError, code=53): ...


class SecurityDisabledError(KafkaError, code=54): ...


class OperationNotAttemptedError(KafkaError, code=55): ...


class KafkaStorageError(KafkaError, code=56): ...


class LogDirNotFoundError(KafkaError, code=57): ...


class SaslAuthenticationError(KafkaError, code=58): ...


class UnknownProducerIdError(KafkaError, code=59): ...


class ReassignmentInProgressError(KafkaError, code=60): ...


class DelegationTokenDisabledError(KafkaError, code=61): ...


class DelegationTokenNotFoundError(KafkaError, code=62): ...


class DelegationTokenOwnerMismatchError(KafkaError, code=63): ...


class UnsupportedByAuthenticationError(KafkaError, code=64): ...


class DelegationTokenAuthorizationError(KafkaError, code=65): ...


class DelegationTokenExpiredError(KafkaError, code=66): ...


class InvalidPrincipalTypeError(KafkaError, code=67): ...


class GroupNotEmptyError(KafkaError, code=68): ...


class GroupIdNotFoundError(KafkaError, code=69): ...


class FetchSessionIdNotFoundError(KafkaError, code=70): ...


class InvalidFetchSessionEpochError(KafkaError, code=71): ...


class ListenerNotFoundError(KafkaError, code=72): ...


class TopicDeletionDisabledError(KafkaError, code=73): ...


class FencedLeaderEpochError(KafkaError, code=74): ...


class UnknownLeaderEpochError(KafkaError, code=75): ...


class UnsupportedCompressionTypeError(KafkaError, code=76): ...


class StaleBrokerEpochError(KafkaError, code=77): ...


class OffsetNotAvailableError(KafkaError, code=78): ...


class MemberIdRequiredError(KafkaError, code=79): ...


class PreferredLeaderNotAvailableError(KafkaError, code=80): ...


class GroupMaxSizeReachedError(KafkaError, code=81): ...


class FencedInstanceIdError(KafkaError, code=82): ...


class EligibleLeadersNotAvailableError(KafkaError, code=83): ...


class ElectionNotNeededError(KafkaError, code=84): ...


class NoReassignmentInProgressError(KafkaError, code=85): ...


class GroupSubscribedToTopicError(KafkaError, code=86): ...


class InvalidRecordError(KafkaError, code=87): ...


class UnstableOffsetCommitError(KafkaError, code=88): ...


class ThrottlingQuotaExceededError(KafkaError, code=89): ...


class ProducerFencedError(KafkaError, code=90): ...


class ResourceNotFoundError(KafkaError, code=91): ...


class DuplicateResourceError(KafkaError, code=92): ...


class UnacceptableCredentialError(KafkaError, code=93): ...


class InconsistentVoterSetError(KafkaError, code=94): ...


class InvalidUpdateVersionError(KafkaError, code=95): ...


class FeatureUpdateFailedError(KafkaError, code=96): ...


class PrincipalDeserializationError(KafkaError, code=97): ...


class SnapshotNotFoundError(KafkaError, code=98): ...


class PositionOutOfRangeError(KafkaError, code=99): ...


class UnknownTopicIdError(KafkaError, code=100): ...


class DuplicateBrokerRegistrationError(KafkaError, code=101): ...


class BrokerIdNotRegisteredError(KafkaError, code=102): ...


class InconsistentTopicIdError(KafkaError, code=103): ...


class InconsistentClusterIdError(KafkaError, code=104): ...


class TransactionalIdNotFoundError(KafkaError, code=105): ...


class FetchSessionTopicIdError(KafkaError, code=106): ...


class IneligibleReplicaError(KafkaError, code=107): ...


class NewLeaderElectedError(KafkaError, code=108): ...


class OffsetMovedToTieredStorageError(KafkaError, code=109): ...


class FencedMemberEpochError(KafkaError, code=110): ...


class UnreleasedInstanceIdError(KafkaError, code=111): ...


class UnsupportedAssignorError(KafkaError, code=112): ...


class StaleMemberEpochError(KafkaError, code=113): ...


class MismatchedEndpointTypeError(KafkaError, code=114): ...


class UnsupportedEndpointTypeError(KafkaError, code=115): ...


class UnknownControllerIdError(KafkaError, code=116): ...


class UnknownSubscriptionIdError(KafkaError, code=117): ...


class TelemetryTooLargeError(KafkaError, code=118): ...


class InvalidRegistrationError(KafkaError, code=119): ...


class TransactionAbortableError(KafkaError, code=120): ...


class InvalidRecordStateError(KafkaError, code=121): ...


class ShareSessionNotFoundError(KafkaError, code=122): ...


class InvalidShareSessionEpochError(KafkaError, code=123): ...


class FencedStateEpochError(KafkaError, code=124): ...


class InvalidVoterKeyError(KafkaError, code=125): ...


class DuplicateVoterError(KafkaError, code=126): ...


class VoterNotFoundError(KafkaError, code=127): ...


class InvalidRegularExpressionError(KafkaError, code=128): ...


class RebootstrapRequiredError(KafkaError, code=129): ...


class StreamsInvalidTopologyError(KafkaError, code=130): ...


class StreamsInvalidTopologyEpochError(KafkaError, code=131): ...


class StreamsTopologyFencedError(KafkaError, code=132): ...


class ShareSessionLimitReachedError(KafkaError, code=133): ...


class ResourceIdentifierTooLargeError(KafkaError, code=134): ...
