"""Partition logs in Kafka's own format: what a broker keeps of a topic, and nothing about who asks for it.

`<log.dir>/<topic>-<partition>/` holds segments (`.log`, `.index`, `.timeindex`, `.txnindex`), producer snapshots
(`.snapshot`), `leader-epoch-checkpoint` and `partition.metadata`; the directory above holds the offset checkpoints.
Kafka's `kafka-dump-log` reads all of it, and a Kafka broker starts on it.

Order and tasks: everything here is plain, synchronous Python for one thread, knows neither sockets nor asyncio, and
takes the time as an argument. One `PartitionLog` is one log; a `LogStore` keeps the logs of a directory, opens their
files when they are needed, and does background work in bounded steps that its caller schedules. What a log refuses is
returned as a `Refusal` with Kafka's error code, never raised; a disk that fails takes only that log offline.

May import: `doorkeeper.rules`, `doorkeeper.wire`, `doorkeeper.cluster.durable`.
"""
