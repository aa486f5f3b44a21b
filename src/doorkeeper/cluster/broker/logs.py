"""The partition logs of a broker: they follow the metadata, and their background work is done when it is due.

From kafka.log.LogManager and the half of ReplicaManager that applies metadata. A partition that this broker leads has
a log from the moment the metadata says so, or soon after where many come at a time; a topic that is gone, also one
that went while the broker was away, frees its files.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.pending_logs import PendingLogs
from doorkeeper.cluster.controller.controller_node import cluster_configs, node_configs
from doorkeeper.cluster.controller.topic_configs import BrokerLayers, effective_topic_configs
from doorkeeper.cluster.image.configs import ConfigResourceType, ConfigurationsImage
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import PartitionRegistration, TopicsImage
from doorkeeper.cluster.live_configs import view_in_force
from doorkeeper.cluster.log.checkpoints import TopicPartition
from doorkeeper.cluster.log.config import LogConfig, parse_log_config
from doorkeeper.cluster.log.flushing import FlushJob
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_state import ProducerSettings
from doorkeeper.cluster.log.store import Intervals, LogStore, open_store
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.errors import StorageError

LOGGER: Final = logging.getLogger("doorkeeper.broker")

ANY_EPOCH: Final = -1
"""The client does not say which leader epoch it knows."""
ALL_DIRECTORIES: Final = "*"
"""In `cordoned.log.dirs`."""
SHORTEST_BACKOFF_MS: Final = 100
"""`log.cleaner.backoff.ms` may be 0, and one event loop has better to do than to look for dirt all the time."""
LOGS_AT_ONCE: Final = 16
"""Logs that are made or removed as soon as the metadata says so; to make one takes some milliseconds of the disk."""
LOGS_PER_TURN: Final = 1
"""Of the others, as many in a turn of the event loop: a disk that is busy takes its time for each."""
LOGS_IN_A_ROW: Final = 64
"""So many turns, then the stores' own work has one."""
EAGER_SECONDS: Final = 0.25
"""How much of a turn may go to logs that clients ask for before their time has come."""


def now_ms() -> int:
    """The time of day, as records and timers have it."""
    return time.time_ns() // 1_000_000


class LedPartition(NamedTuple):
    """A partition that this broker leads, and may be read and written."""

    log: PartitionLog
    leader_epoch: int


class TopicConfigs:
    """The configs in force of each topic, parsed once for every combination that occurs."""

    def __init__(self, node_id: int, static: Mapping[str, str]) -> None:
        self._node_id = node_id
        self._static = static
        self._image = MetadataImage.EMPTY
        self._parsed: dict[frozenset[tuple[str, str]], LogConfig] = {}

    def follow(self, image: MetadataImage) -> ConfigurationsImage:
        """Read configs from this image from now on; returns those that were read before."""
        before = self._image.configs
        if image.configs is not before:
            self._parsed.clear()
        self._image = image
        return before

    def of(self, topic: str) -> LogConfig:
        own = self._image.configs.of(ConfigResourceType.TOPIC, topic)
        key = frozenset(own.items())
        known = self._parsed.get(key)
        if known is None:
            image = self._image
            layers = BrokerLayers(node_configs(image, self._node_id), cluster_configs(image), self._static)
            effective = effective_topic_configs(own, layers)
            known = self._parsed[key] = parse_log_config({one.key.name: one.value for one in effective})
        return known


class BrokerLogs:
    """Made by `open_logs`."""

    def __init__(
        self, config: NodeConfig, stores: Sequence[LogStore], configs: TopicConfigs, producers: ProducerSettings
    ) -> None:
        """:param producers: what all logs of the stores share."""
        self.producers = producers
        self._config = config
        self._node_id = config.node_id
        self._cordoned: frozenset[str] = frozenset()
        self.stores = stores
        self._configs = configs
        self._topics = TopicsImage.EMPTY
        self._image = MetadataImage.EMPTY
        self._work = asyncio.Event()
        self._pending = PendingLogs()
        self._eager_seconds = EAGER_SECONDS
        self._subscribers: list[Callable[[Collection[str]], None]] = []
        self.is_stopping = False
        self._apply_broker_configs()

    # --- following the metadata ---

    def follow(self, image: MetadataImage) -> None:
        """Make, change and remove logs as the metadata says. Subscribed to the image's source.

        The first few are done on return; the others, and what the disk refuses, are left to `run`.
        """
        configs_before = self._configs.follow(image)
        topics_before, self._topics = self._topics, image.topics
        self._image = image
        if image.configs is not configs_before:
            self._apply_broker_configs()
        if image.topics is not topics_before:
            self._settle_soon([*self._gone(topics_before), *self._lacking(topics_before)])
        if image.configs is not configs_before:
            for name in image.topics.by_name:
                self._apply_config(name)

    def _apply_broker_configs(self) -> None:
        view = view_in_force(self._config, self._image)
        self.producers.expiration_ms = view.integer("producer.id.expiration.ms")
        self.producers.requires_verification = view.flag("transaction.partition.verification.enable")
        self._cordoned = frozenset(view.items("cordoned.log.dirs"))

    def remove_strays(self) -> None:
        """Give up logs of topics that went while this broker was away (LogManager.isStrayReplica)."""
        strays = [log for log in self if self._is_stray(log)]
        for log in strays:
            LOGGER.warning("the log of %s belongs to no topic any more, and is removed", log.name)
        self._settle_soon([(log.topic, log.partition) for log in strays])

    def _is_stray(self, log: PartitionLog) -> bool:
        topic = self._topics.by_name.get(log.topic)
        return topic is None or log.topic_id not in (None, topic.id) or log.partition not in topic.partitions

    def _gone(self, before: TopicsImage) -> Iterator[TopicPartition]:
        for topic_id, topic in before.by_id.items():
            if topic_id not in self._topics.by_id:
                yield from ((topic.name, partition) for partition in topic.partitions)

    def _lacking(self, before: TopicsImage) -> Iterator[TopicPartition]:
        """Partitions of new and changed topics that this broker leads and has no log of."""
        for topic_id, topic in self._topics.by_id.items():
            if before.by_id.get(topic_id) is not topic:
                for index, partition in topic.partitions.items():
                    if partition.leader == self._node_id and self.get(topic.name, index) is None:
                        yield topic.name, index

    def _settle_soon(self, keys: Sequence[TopicPartition]) -> None:
        """Do the first few now, so that a usual topic is there at once; `run` does the rest in small steps."""
        for key in keys[:LOGS_AT_ONCE]:
            self._settle(key)
        self._pending.add(keys[LOGS_AT_ONCE:])
        self._work.set()

    def _settle(self, key: TopicPartition) -> bool:
        """Bring one partition's log in line with the metadata, whatever has changed; whether that could be done."""
        try:
            self._remove_stray(*key)
            self._make_log(*key)
        except StorageError as error:
            LOGGER.warning("the log of %s-%d can't be made or removed now: %s", *key, error)
            self._pending.failed(key, now_ms())
            return False
        self._pending.settled(key)
        return True

    def _remove_stray(self, topic: str, index: int) -> None:
        for store in self.stores:
            log = store.get(topic, index)
            if log is not None and self._is_stray(log):
                store.delete(topic, index)

    def _make_log(self, name: str, index: int) -> None:
        topic, registration = self._topics.by_name.get(name), self.registration(name, index)
        if topic is None or registration is None or registration.leader != self._node_id:
            return
        if self.get(name, index) is not None or self._is_broken(name, index):
            return
        refusals: list[StorageError] = []
        for store in self._next_stores():
            try:
                store.create(name, index, topic.id, self._configs.of(name), now_ms())
            except StorageError as error:
                refusals.append(error)
            else:
                return
        raise refusals[0]

    def _is_broken(self, topic: str, index: int) -> bool:
        return any((topic, index) in store.broken for store in self.stores)

    def _next_stores(self) -> list[LogStore]:
        """Where to make a log, the emptiest first; cordoned directories are left alone (LogManager.nextLogDirs)."""
        if ALL_DIRECTORIES in self._cordoned:
            return [self.stores[0]]
        free = [store for store in self.stores if not self.is_cordoned(store)]
        return sorted(free, key=len) or [self.stores[0]]

    def is_cordoned(self, store: LogStore) -> bool:
        """Whether new partitions are to go elsewhere (`cordoned.log.dirs`)."""
        return ALL_DIRECTORIES in self._cordoned or str(store.path.absolute()) in self._cordoned

    def _apply_config(self, topic: str) -> None:
        config = self._configs.of(topic)
        if any(log is not None and log.config != config for log in self._logs_of(topic)):
            for store in self.stores:
                store.set_config(topic, config)
            self._work.set()

    def _logs_of(self, topic: str) -> Iterable[PartitionLog | None]:
        return (self.get(topic, index) for index in self._topics.by_name[topic].partitions)

    # --- finding ---

    def subscribe(self, tell: Callable[[Collection[str]], None]) -> None:
        """Be told of topics some of whose logs have come after the metadata."""
        self._subscribers.append(tell)

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition; not the one that a topic of this name had before, and that is about to go."""
        known = self._topics.by_name.get(topic)
        if known is None:
            return None
        for store in self.stores:
            log = store.get(topic, partition)
            if log is not None and log.topic_id in (None, known.id):
                return log
        return None

    def registration(self, topic: str, partition: int) -> PartitionRegistration | None:
        known = self._topics.by_name.get(topic)
        return None if known is None else known.partitions.get(partition)

    def find(self, topic: str, partition: int, epoch: int = ANY_EPOCH) -> LedPartition | ErrorCode:
        """The log of a partition that this broker leads, or what to answer (ReplicaManager.getPartitionOrError)."""
        registration = self.registration(topic, partition)
        if registration is None:
            return ErrorCode.unknown_topic_or_partition
        if epoch != ANY_EPOCH and epoch < registration.leader_epoch:
            return ErrorCode.fenced_leader_epoch
        if epoch > registration.leader_epoch:
            return ErrorCode.unknown_leader_epoch
        if registration.leader != self._node_id:
            return ErrorCode.not_leader_or_follower
        log = self.get(topic, partition) or self._make_early(topic, partition)
        if log is None:
            return self._why_lacking(topic, partition)
        if log.offline is not None:
            return ErrorCode.kafka_storage_error
        return LedPartition(log, registration.leader_epoch)

    def _make_early(self, topic: str, partition: int) -> PartitionLog | None:
        """Make a log that waits for its turn, because a producer without acks asks only once."""
        if self._eager_seconds <= 0 or not self._pending.is_waiting((topic, partition)):
            return None
        begun = time.monotonic()
        self._settle((topic, partition))
        self._eager_seconds -= time.monotonic() - begun
        return self.get(topic, partition)

    def _why_lacking(self, topic: str, partition: int) -> ErrorCode:
        """A client that is too early for its log asks again, as at a broker that has yet to hear that it leads."""
        is_refused = self._pending.has_failed((topic, partition)) or self._is_broken(topic, partition)
        return ErrorCode.kafka_storage_error if is_refused else ErrorCode.not_leader_or_follower

    def __iter__(self) -> Iterator[PartitionLog]:
        for store in self.stores:
            yield from store

    # --- background work, and the end ---

    async def run(self) -> None:
        """Do background work whenever some is due; sleeps in between. The task of the logs, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._work.clear()
            while await self._step():
                await asyncio.sleep(0)
            await self._flush()
            due = min(self._pending.next_due(), *(store.next_due() for store in self.stores))
            timer = loop.call_later(max(0, due - now_ms()) / 1000, self._work.set)
            try:
                await self._work.wait()
            finally:
                timer.cancel()

    async def _step(self) -> bool:
        """A bounded piece of every kind of work, so that none waits for the end of another; whether there is more."""
        is_more = await self._settle_some()
        for store in self.stores:
            is_more |= store.step(now_ms())
        return is_more

    async def _settle_some(self) -> bool:
        """Bring logs in line with the metadata, one at a turn of the loop; whether more are due.

        Who waits for logs of a topic hears of those that are made.
        """
        for _ in range(LOGS_IN_A_ROW):
            self._eager_seconds = EAGER_SECONDS
            keys = self._pending.take(LOGS_PER_TURN, now_ms())
            if not keys:
                return False
            changed = {topic for topic, index in keys if self._settle((topic, index))}
            for tell in self._subscribers:
                tell(changed)
            await asyncio.sleep(0)
        return self._pending.next_due() <= now_ms()

    async def _flush(self) -> None:
        """Flush rolled segments in another thread: the disk may take its time."""
        jobs = [job for store in self.stores for job in store.flush_jobs()]
        if jobs:
            await asyncio.to_thread(_run_all, jobs)
            for job in jobs:
                job.finish()

    def stop_waiting(self) -> None:
        """Answer everybody who waits for a log to grow: the broker is about to stop."""
        self.is_stopping = True
        for store in self.stores:
            for log in store:
                log.waiters.notify()

    def close(self, broker_epoch: int) -> None:
        """Have everything on the disk, so that the next start need not recover."""
        for store in self.stores:
            try:
                store.close(now_ms(), broker_epoch)
            except StorageError as error:
                LOGGER.error("%s is not closed cleanly: %s", store.path, error)  # noqa: TRY400


def _run_all(jobs: Sequence[FlushJob]) -> None:
    for job in jobs:
        job.run()


def open_logs(config: NodeConfig, directories: Sequence[Path], image: MetadataImage) -> BrokerLogs:
    """Open the logs that are there, recovering what a crash has left; then take in what the metadata says."""
    configs = TopicConfigs(config.node_id, config.static)
    configs.follow(image)
    intervals = Intervals(
        retention=config.number("log.retention.check.interval.ms"),
        compaction=max(SHORTEST_BACKOFF_MS, config.number("log.cleaner.backoff.ms")),
        checkpoint=config.number("log.flush.offset.checkpoint.interval.ms"),
        producers=config.number("producer.id.expiration.check.interval.ms"),
    )
    producers = ProducerSettings(
        config.number("producer.id.expiration.ms"), config.flag("transaction.partition.verification.enable")
    )
    stores = [
        open_store(path, configs.of, now_ms(), Surroundings(producers=producers), intervals) for path in directories
    ]
    logs = BrokerLogs(config, stores, configs, producers)
    logs.follow(image)
    logs.remove_strays()
    return logs
