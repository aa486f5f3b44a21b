"""Two hundred peers that come, go and misbehave: `python -m tests.cluster.misbehaving PORT SECONDS`.

Each peer connects, does one thing, well or badly, leaves in one way or another, and comes again. At the end a line of
JSON says how often each thing was begun.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import struct
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from typing import Any, Final

from tests.cluster.records import batch

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.codec import encode_request

PEERS: Final = 200
TOPIC: Final = "soak"
LONGEST_PAUSE_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 10.0
GROUPS: Final = 5
SESSION: Final = timedelta(seconds=6)
HALF_FRAME: Final = 1000
MANY: Final = 20
FETCH_BYTES: Final = 1 << 18
RESET: Final = struct.pack("ii", 1, 0)


class Stream:
    """One connection of a peer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random) -> None:
        self.reader = reader
        self.writer = writer
        self.chance = chance

    def send(self, api_key: int, version: int, **values: Any) -> None:
        frame = encode_request(make_request(api_key, version, values), 7, "soak")
        self.writer.write(struct.pack(">i", len(frame)) + frame)

    async def receive(self) -> bytes:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def ask(self, api_key: int, version: int, **values: Any) -> bytes:
        self.send(api_key, version, **values)
        return await self.receive()

    def reset(self) -> None:
        """Leave as a machine does whose power fails."""
        with suppress(OSError):  # the server may have closed before
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.writer.transport.abort()


def fetching(wait_ms: int) -> dict[str, Any]:
    place = {"partition_max_bytes": FETCH_BYTES, "current_leader_epoch": -1, "last_fetched_epoch": -1}
    return {
        "topics": [{"topic": TOPIC, "partitions": [place]}],
        "max_bytes": FETCH_BYTES,
        "min_bytes": 1 if wait_ms == 0 else 1 << 30,
        "max_wait": timedelta(milliseconds=wait_ms),
        "session_epoch": -1,
        "replica_id": -1,
    }


# --- what a peer does ---


async def introduces_itself(stream: Stream) -> None:
    await stream.ask(18, 3, client_software_name="soak", client_software_version="1")
    await stream.ask(3, 12, topics=[{"name": TOPIC, "topic_id": None}])


async def writes(stream: Stream) -> None:
    data = [{"name": TOPIC, "partition_data": [{"index": 0, "records": batch(b"x" * 100)}]}]
    await stream.ask(0, 9, acks=-1, timeout=timedelta(seconds=5), topic_data=data)


async def reads(stream: Stream) -> None:
    await stream.ask(1, 12, **fetching(0))


async def waits_for_records_and_is_gone(stream: Stream) -> None:
    stream.send(1, 12, **fetching(2_000))
    await stream.writer.drain()


async def reads_nothing_of_what_it_asked_for(stream: Stream) -> None:
    for _ in range(MANY):
        stream.send(1, 12, **fetching(0))
    await stream.writer.drain()


async def sends_half_a_frame(stream: Stream) -> None:
    stream.writer.write(struct.pack(">i", HALF_FRAME) + stream.chance.randbytes(stream.chance.randrange(HALF_FRAME)))
    await stream.writer.drain()


async def sends_garbage(stream: Stream) -> None:
    stream.writer.write(stream.chance.randbytes(stream.chance.randrange(1, 5000)))
    await stream.writer.drain()


async def sends_an_impossible_size(stream: Stream) -> None:
    stream.writer.write(struct.pack(">i", stream.chance.choice((-1, 0, 1, 2**31 - 1))))
    await stream.reader.read(1)


async def asks_for_what_does_not_exist(stream: Stream) -> None:
    frame = struct.pack(">hhih", stream.chance.choice((999, 18, 0, 1)), 99, 7, -1)
    stream.writer.write(struct.pack(">i", len(frame)) + frame)
    await stream.reader.read(1)


async def joins_a_group_and_is_gone(stream: Stream) -> None:
    group = f"group-{stream.chance.randrange(GROUPS)}"
    values = {"session_timeout": SESSION, "rebalance_timeout": SESSION, "protocol_type": "consumer"}
    protocols = [{"name": "range", "metadata": b"\0\0"}]
    await stream.ask(10, 4, key_type=0, coordinator_keys=[group])
    stream.send(11, 3, group_id=group, member_id="", protocols=protocols, **values)
    await stream.writer.drain()


async def begins_a_transaction_and_is_gone(stream: Stream) -> None:
    name = f"id-{stream.chance.randrange(GROUPS)}"
    await stream.ask(10, 4, key_type=1, coordinator_keys=[name])
    asked = {"transactional_id": name, "producer_id": -1, "producer_epoch": -1}
    await stream.ask(22, 4, **asked, transaction_timeout=timedelta(seconds=1))


async def says_nothing(stream: Stream) -> None:
    del stream


BEHAVIOURS: Final[tuple[Callable[[Stream], Awaitable[None]], ...]] = (
    introduces_itself,
    writes,
    reads,
    waits_for_records_and_is_gone,
    reads_nothing_of_what_it_asked_for,
    sends_half_a_frame,
    sends_garbage,
    sends_an_impossible_size,
    asks_for_what_does_not_exist,
    joins_a_group_and_is_gone,
    begins_a_transaction_and_is_gone,
    says_nothing,
)


async def live(port: int, seed: int, done: Counter[str]) -> None:
    """One peer, until it is cancelled."""
    chance = random.Random(seed)
    for behave in chain((BEHAVIOURS[seed % len(BEHAVIOURS)],), iter(lambda: chance.choice(BEHAVIOURS), None)):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            done["is not let in"] += 1
            await asyncio.sleep(LONGEST_PAUSE_SECONDS)
            continue
        stream = Stream(reader, writer, chance)
        done[behave.__name__] += 1
        try:
            # `asyncio.wait_for` may lose a cancellation that comes together with the end of what it waits for.
            async with asyncio.timeout(PATIENCE_SECONDS):
                await behave(stream)
            await asyncio.sleep(chance.random() * LONGEST_PAUSE_SECONDS)
        except (OSError, asyncio.IncompleteReadError):
            done["is thrown out"] += 1
        finally:
            if chance.random() < 0.5:
                stream.reset()
            else:
                writer.close()


async def soak(port: int, seconds: float) -> Counter[str]:
    done: Counter[str] = Counter()
    peers = [asyncio.create_task(live(port, seed, done)) for seed in range(PEERS)]
    finished, _ = await asyncio.wait(peers, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for peer in peers:
        peer.cancel()
    for peer in finished:
        peer.result()
    await asyncio.gather(*peers, return_exceptions=True)
    return done


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of what the peers do on purpose
    print(json.dumps(asyncio.run(soak(int(sys.argv[1]), float(sys.argv[2])))))
