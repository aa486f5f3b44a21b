"""The Kafka error codes that the rulebook answers with."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's numbers and names (org.apache.kafka.common.protocol.Errors), and the one new code of KIP-1233."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    INVALID_TOPIC_EXCEPTION = 17
    UNSUPPORTED_VERSION = 35
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    RESOURCE_IDENTIFIER_TOO_LARGE = 134
    """KIP-1233, "to be assigned": the first number after Kafka 4.3.1's last (133)."""
