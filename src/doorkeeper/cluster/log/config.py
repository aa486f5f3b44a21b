"""The configs of a topic that its logs read, parsed once (org.apache.kafka.storage.internals.log.LogConfig)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from doorkeeper.rules.config_schema import TOPIC, ConfigProblem, default_value, load_schema, parse_value
from doorkeeper.rules.javatext import parse_long
from doorkeeper.wire.compression import Compression

logger = logging.getLogger(__name__)

MAX_LONG: Final = 2**63 - 1
MAX_INT: Final = 2**31 - 1

_RETENTION: Final = "retention.ms"
_UNLIMITED: Final = -1
"""What every negative time of a broker's log.retention.* means (AbstractKafkaConfig.logRetentionTimeMillis)."""
_PRODUCER: Final = "producer"
_UNCOMPRESSED: Final = "uncompressed"
_LOG_APPEND_TIME: Final = "LogAppendTime"
_LEVELS: Final = {
    Compression.GZIP: "compression.gzip.level",
    Compression.LZ4: "compression.lz4.level",
    Compression.ZSTD: "compression.zstd.level",
}


@dataclass(frozen=True, slots=True)
class LogConfig:
    """One field per config; times are in milliseconds. The defaults are Kafka's for a topic without configs."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    retention_bytes: int = -1
    """Below zero: without limit."""
    retention_ms: int = 604_800_000
    """Below zero: without limit."""
    max_message_bytes: int = 1_048_588
    is_compacted: bool = False
    is_deleted: bool = True
    """Whether `cleanup.policy` has `delete`: old segments go by time and size."""
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    delete_retention_ms: int = 86_400_000
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = MAX_LONG
    timestamp_after_max_ms: int = 3_600_000
    compression: Compression | None = None
    """The codec that batches are kept in; none: the producer's own."""
    compression_level: int | None = None

    @property
    def max_segment_ms(self) -> int:
        """A compacted topic rolls early enough for max.compaction.lag.ms to be kept."""
        if self.is_compacted and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms


def parse_log_config(configs: Mapping[str, str | None]) -> LogConfig:
    """Parse a topic's effective configs; what is missing, or null, has Kafka's default. Other keys are not read.

    A broker's key may be laxer than the topic's that it stands for (log.flush.interval.ms and flush.ms): a value that
    no topic can have leaves the default, as it leaves the old value on Kafka's brokers.
    """
    values = _defaults() | {
        name: value
        for name, text in configs.items()
        if text is not None and name in load_schema(TOPIC) and (value := _value(name, text)) is not None
    }
    fields = {field: read(values) for field, read in _FIELDS.items()}
    return LogConfig(**fields)


@cache
def _defaults() -> dict[str, Any]:
    return {name: default_value(key) for name, key in load_schema(TOPIC).items()}


def _value(name: str, text: str) -> Any:
    value = parse_value(load_schema(TOPIC)[name], text)
    if not isinstance(value, ConfigProblem):
        return value
    if name == _RETENTION and (parse_long(text) or 0) < 0:
        return _UNLIMITED
    logger.warning("%s; its default is in force instead", value.message)
    return None


def _compression(values: Mapping[str, Any]) -> Compression | None:
    name = values["compression.type"]
    if name == _PRODUCER:
        return None
    return Compression.NONE if name == _UNCOMPRESSED else Compression[name.upper()]


def _compression_level(values: Mapping[str, Any]) -> int | None:
    compression = _compression(values)
    return None if compression not in _LEVELS else int(values[_LEVELS[compression]])


def _plain(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda values: values[name]


_FIELDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "segment_bytes": lambda values: values["internal.segment.bytes"] or values["segment.bytes"],
    "segment_ms": _plain("segment.ms"),
    "segment_jitter_ms": _plain("segment.jitter.ms"),
    "segment_index_bytes": _plain("segment.index.bytes"),
    "index_interval_bytes": _plain("index.interval.bytes"),
    "flush_messages": _plain("flush.messages"),
    "flush_ms": _plain("flush.ms"),
    "retention_bytes": _plain("retention.bytes"),
    "retention_ms": _plain("retention.ms"),
    "max_message_bytes": _plain("max.message.bytes"),
    "is_compacted": lambda values: "compact" in values["cleanup.policy"],
    "is_deleted": lambda values: "delete" in values["cleanup.policy"],
    "min_cleanable_dirty_ratio": _plain("min.cleanable.dirty.ratio"),
    "min_compaction_lag_ms": _plain("min.compaction.lag.ms"),
    "max_compaction_lag_ms": _plain("max.compaction.lag.ms"),
    "delete_retention_ms": _plain("delete.retention.ms"),
    "is_log_append_time": lambda values: values["message.timestamp.type"] == _LOG_APPEND_TIME,
    "timestamp_before_max_ms": _plain("message.timestamp.before.max.ms"),
    "timestamp_after_max_ms": _plain("message.timestamp.after.max.ms"),
    "compression": _compression,
    "compression_level": _compression_level,
}
