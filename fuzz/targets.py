"""Every fuzz target by its name, and the loop that runs one: `python -m fuzz.targets decode_request 60`."""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from fuzz import file_targets as files
from fuzz import record_targets as records
from fuzz import text_targets as texts
from fuzz import wire_targets as wire

INPUTS_PER_ORIGINAL = 200


class Target(NamedTuple):
    """A decoder under test: `check` raises only what is a bug, `lawful` gives bytes that are worth damaging."""

    check: Callable[[bytes], None]
    lawful: Callable[[random.Random], bytes] = wire.lawful_request


TARGETS = {
    "request_header": Target(wire.target_request_header),
    "decode_request": Target(wire.target_decode_request),
    "decode_response": Target(wire.target_decode_response),
    "frame_reader": Target(wire.target_frame_reader),
    "server_connection": Target(wire.target_server_connection),
    "client_connection": Target(wire.target_client_connection),
    "batches": Target(records.target_batches, records.lawful_batch),
    "metadata_record": Target(records.target_metadata_record, records.lawful_metadata_record),
    "control_record": Target(records.target_control_record, records.lawful_control_record),
    "coordinator_record": Target(records.target_coordinator_record, records.lawful_coordinator_record),
    "transaction_record": Target(records.target_transaction_record, records.lawful_transaction_record),
    "consumer_protocol": Target(records.target_consumer_protocol, records.lawful_consumer_protocol),
    "principal": Target(records.target_principal, records.lawful_principal),
    "sasl": Target(texts.target_sasl, texts.lawful_token),
    "jaas": Target(texts.target_jaas, texts.lawful_jaas),
    "properties": Target(texts.target_properties, texts.lawful_properties),
    "snapshot": Target(files.target_snapshot, files.lawful_snapshot),
    "metadata_directory": Target(files.target_metadata_directory, files.lawful_metadata_directory),
    "metadata_replay": Target(files.target_metadata_replay, records.lawful_metadata_record),
    "partition_directory": Target(files.target_partition_directory, files.lawful_partition_directory),
    "producer_snapshot": Target(files.target_producer_snapshot, files.lawful_producer_snapshot),
    "checkpoints": Target(files.target_checkpoints, files.lawful_checkpoint),
}


def run(name: str, seconds: float, seed: int) -> int:
    """Run a target on mutated messages until the time is up; returns the number of inputs. A bug names its seed."""
    target = TARGETS[name]
    logging.disable(logging.CRITICAL)  # damage is said in a line each
    try:
        return _run(name, target, seconds, seed)
    finally:
        logging.disable(logging.NOTSET)


def _run(name: str, target: Target, seconds: float, seed: int) -> int:
    chooser = random.Random(seed)
    deadline = time.monotonic() + seconds
    count = 0
    while time.monotonic() < deadline:
        original = target.lawful(chooser)
        for _ in range(INPUTS_PER_ORIGINAL):
            data = wire.mutations(chooser.randrange(2**32), original)
            try:
                target.check(data)
            except BaseException as error:
                error.add_note(f"fuzz target {name}, seed {seed}, input {data.hex()}")
                raise
            count += 1
    return count


if __name__ == "__main__":
    print(run(sys.argv[1], float(sys.argv[2]), random.SystemRandom().randrange(2**32)), "inputs, clean")
