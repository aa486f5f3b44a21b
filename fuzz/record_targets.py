"""One fuzz target per decoder of records: any bytes in, a record or `RecordError` out.

Each target has lawful bytes of its own kind for `mutations` to damage: other bytes would not get past the first check.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from doorkeeper.cluster.principals import read_principal, write_principal
from doorkeeper.errors import RecordError, RemoteProtocolError
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.consumer_protocol import Assignment, Subscription, read_assignment, read_subscription
from doorkeeper.wire.coordinator_records import RECORD_TYPES, CoordinatorRecord, RecordKey, read_coordinator_record
from doorkeeper.wire.coordinator_records import write_coordinator_record as write_coordinator
from doorkeeper.wire.metadata.control import CONTROL_RECORDS, read_control_record, write_control_record
from doorkeeper.wire.metadata.schema import Message, Struct, specs_of, write_struct
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record, write_metadata_record
from doorkeeper.wire.metadata.types import METADATA_RECORDS
from doorkeeper.wire.records import HEADER_BYTES, Record, iter_batches, read_batch_header, seal_batch, write_batch
from doorkeeper.wire.transaction_records import RECORD_TYPES as TRANSACTION_TYPES
from doorkeeper.wire.transaction_records import read_transaction_record

LENGTH_BYTES = 2
"""Two fields of a target travel as one: the first behind its length."""


def _sample(struct: type[Struct], chooser: random.Random) -> Any:
    """An instance with some elements in its arrays of structs, and defaults elsewhere."""
    values = {
        name: tuple(_sample(spec.struct, chooser) for _ in range(chooser.randrange(3)))
        for name, spec in specs_of(struct).items()
        if spec.is_array and spec.struct is not None and spec.since == 0
    }
    return struct(**values)


def _versioned(kind: type[Message], chooser: random.Random) -> tuple[Any, int]:
    return _sample(kind, chooser), chooser.randint(0, kind.highest_version)


def _joined(key: bytes, value: bytes | None) -> bytes:
    return len(key).to_bytes(LENGTH_BYTES, "big") + key + (value or b"")


def _parted(data: bytes) -> tuple[bytes, bytes]:
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
    return data[LENGTH_BYTES:end], data[end:]


def lawful_batch(chooser: random.Random) -> bytes:
    records = [Record(b"value" * 9, b"key", chooser.randrange(10**6), headers=((b"h", b"1"),)) for _ in range(3)]
    return write_batch(records, base_offset=chooser.randrange(9), compression=chooser.choice(list(Compression)))


def target_batches(data: bytes) -> None:
    """Bytes are batches, or no batches: as they came, and with a checksum that is right for the damage."""
    for case in (data, _resealed(data)):
        try:
            for _ in iter_batches(case):
                pass
        except RecordError:
            continue


def _resealed(data: bytes) -> bytes:
    try:
        header = read_batch_header(data)
    except RecordError:
        return data
    return seal_batch(
        data[HEADER_BYTES:],
        base_offset=header.base_offset,
        leader_epoch=0,
        attributes=header.attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        count=header.count,
    )


def lawful_metadata_record(chooser: random.Random) -> bytes:
    return write_metadata_record(VersionedRecord(*_versioned(chooser.choice(METADATA_RECORDS), chooser)))


def target_metadata_record(data: bytes) -> None:
    """A record that was read can be written."""
    try:
        record = read_metadata_record(data)
    except RecordError:
        return
    write_metadata_record(record)


def lawful_control_record(chooser: random.Random) -> bytes:
    return _joined(*write_control_record(_sample(chooser.choice(CONTROL_RECORDS), chooser)))


def target_control_record(data: bytes) -> None:
    try:
        read_control_record(*_parted(data))
    except RecordError:
        return


def lawful_coordinator_record(chooser: random.Random) -> bytes:
    return _coordinator_record(*chooser.choice(RECORD_TYPES), chooser)


def _coordinator_record(key: type[RecordKey], value: type[Message], chooser: random.Random) -> bytes:
    return _joined(*write_coordinator(CoordinatorRecord(_sample(key, chooser), *_versioned(value, chooser))))


def target_coordinator_record(data: bytes) -> None:
    _read_and_write(read_coordinator_record, data)


def lawful_transaction_record(chooser: random.Random) -> bytes:
    return _coordinator_record(*chooser.choice(list(TRANSACTION_TYPES.values())), chooser)


def target_transaction_record(data: bytes) -> None:
    _read_and_write(read_transaction_record, data)


def _read_and_write(read: Callable[[bytes, bytes | None], object], data: bytes) -> None:
    try:
        record = read(*_parted(data))
    except RecordError:
        return
    if isinstance(record, CoordinatorRecord):
        write_coordinator(record)


def lawful_consumer_protocol(chooser: random.Random) -> bytes:
    message, version = _versioned(chooser.choice((Subscription, Assignment)), chooser)
    out = bytearray(version.to_bytes(2, "big"))
    write_struct(out, version, message)
    return bytes(out)


def target_consumer_protocol(data: bytes) -> None:
    """Either reading of the same bytes."""
    for read in (read_subscription, read_assignment):
        try:
            read(data)
        except RecordError:
            continue


def lawful_principal(chooser: random.Random) -> bytes:
    return write_principal(chooser.choice(("User:ANONYMOUS", "User:é😀", "User:")))


def target_principal(data: bytes) -> None:
    """Bytes that are no principal are the peer's fault: it is part of an Envelope."""
    try:
        read_principal(data)
    except RemoteProtocolError:
        return
