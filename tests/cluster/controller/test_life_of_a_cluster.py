"""Any sequence of decisions leaves a lawful cluster: leaders are there, snapshots lose nothing, replays never fail."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import CLUSTER_ID, NODE, Ids, broker, cluster, topic

from doorkeeper.cluster.controller.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    decide_create_partitions,
)
from doorkeeper.cluster.controller.create_topics import CreatableTopic, CreateTopicsRequest, decide_create_topics
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.delete_topics import DeleteTopicsRequest, decide_delete_topics
from doorkeeper.cluster.controller.features import (
    SUPPORTED_FEATURES,
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpgradeType,
    decide_update_features,
)
from doorkeeper.cluster.controller.heartbeat import (
    BrokerHeartbeatRequest,
    decide_broker_heartbeat,
    decide_fence_broker,
    decide_unregister_broker,
)
from doorkeeper.cluster.controller.leadership import NO_LEADER
from doorkeeper.cluster.controller.registration import (
    BrokerRegistrationRequest,
    RegisteredFeature,
    RegisteredListener,
    ReportedConfig,
    decide_register_broker,
)
from doorkeeper.cluster.controller.sessions import HeartbeatTracker
from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance

BROKERS = st.integers(1, 3)
SELDOM = st.sampled_from([False, False, False, True])
NAMES = st.sampled_from(["a", "a.b", "a_b", "c"])
FEATURES = tuple(RegisteredFeature(name, int(one.lowest), int(one.highest)) for name, one in SUPPORTED_FEATURES.items())


class ClusterLife(RuleBasedStateMachine):
    """A controller without disk and network: it decides, replays, and notes what a node would note."""

    def __init__(self) -> None:
        super().__init__()
        self.image = cluster(broker(1), broker(2), *topic("a", 1, 2), *topic("c", 1))
        self.offset = self.image.provenance.offset
        self.now_ms = 0
        self.tracker = HeartbeatTracker.for_image(self.image, 100, self.now_ms)
        self.ids = Ids()

    def carry_out(self, decision: Decision[Any]) -> None:
        delta = MetadataDelta(self.image)
        for record in decision.records:
            delta.replay(record.message)
        self.offset += len(decision.records)
        self.image = delta.apply(Provenance(self.offset, 1, 0))

    @rule(broker_id=BROKERS, incarnation=st.integers(1, 2), threads=st.sampled_from(["2", "8"]))
    def register(self, broker_id: int, incarnation: int, threads: str) -> None:
        decision = decide_register_broker(
            self.image,
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=UUID(int=incarnation * 10 + broker_id),
                listeners=(RegisteredListener("PLAINTEXT", "localhost", 9092, 0),),
                features=FEATURES,
                log_dirs=(UUID(int=1000 + broker_id),),
                static_configs=(ReportedConfig("num.io.threads", threads),),
            ),
            cluster_id=CLUSTER_ID,
            next_offset=self.offset + 1,
            tracker=self.tracker,
            now_ms=self.now_ms,
        )
        self.carry_out(decision)
        if decision.response.error_code:
            assert decision.response.error_code == ErrorCode.duplicate_broker_registration
        else:
            self.tracker = self.tracker.registered(broker_id, decision.response.broker_epoch, self.offset)

    @rule(broker_id=BROKERS, want_fence=SELDOM, want_shut_down=SELDOM, behind=st.sampled_from([0, 0, 0, 2]))
    def heartbeat(self, broker_id: int, want_fence: bool, want_shut_down: bool, behind: int) -> None:
        registered = self.image.cluster.brokers.get(broker_id)
        if registered is None:
            return
        request = BrokerHeartbeatRequest(broker_id, registered.epoch, self.offset - behind, want_fence, want_shut_down)
        self.tracker = self.tracker.touched(broker_id, registered.epoch, request.current_metadata_offset, self.now_ms)
        decision = decide_broker_heartbeat(self.image, request, self.tracker)
        self.carry_out(decision)
        response = decision.response
        assert response.error_code == ErrorCode.none
        assert response.is_fenced == self.image.cluster.brokers[broker_id].fenced
        if response.in_controlled_shutdown:
            self.tracker = self.tracker.shutting_down(broker_id, self.offset)
        elif response.is_fenced:
            self.tracker = self.tracker.fenced(broker_id)

    @rule(milliseconds=st.sampled_from([10, 60, 200]))
    def wait(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        late, self.tracker = self.tracker.expire(self.now_ms)
        for broker_id in late:
            self.carry_out(decide_fence_broker(self.image, broker_id))
            self.tracker = self.tracker.fenced(broker_id)

    @rule(broker_id=BROKERS)
    def unregister(self, broker_id: int) -> None:
        self.carry_out(decide_unregister_broker(self.image, broker_id))
        self.tracker = self.tracker.removed(broker_id)

    @rule(name=NAMES, partitions=st.integers(1, 4))
    def create_topic(self, name: str, partitions: int) -> None:
        request = CreateTopicsRequest((CreatableTopic(name, partitions, 1),))
        self.carry_out(decide_create_topics(self.image, request, NODE, new_id=self.ids))

    @rule(name=NAMES, partitions=st.integers(1, 6))
    def grow_topic(self, name: str, partitions: int) -> None:
        request = CreatePartitionsRequest((CreatePartitionsTopic(name, partitions),))
        self.carry_out(decide_create_partitions(self.image, request))

    @rule(name=NAMES)
    def delete_topic(self, name: str) -> None:
        self.carry_out(decide_delete_topics(self.image, DeleteTopicsRequest(topic_names=(name,))))

    @rule(level=st.sampled_from([30, 1000]))
    def change_level(self, level: int) -> None:
        down = level < self.image.features.require_metadata_version()
        kind = UpgradeType.SAFE_DOWNGRADE if down else UpgradeType.UPGRADE
        request = UpdateFeaturesRequest((FeatureUpdateKey("metadata.version", level, kind),))
        self.carry_out(decide_update_features(self.image, request, NODE))

    @invariant()
    def every_leader_is_there(self) -> None:
        brokers = self.image.cluster.brokers
        for one in self.image.topics.by_name.values():
            for partition in one.partitions.values():
                assert len(partition.replicas) == 1
                assert partition.isr == partition.replicas
                leader = brokers.get(partition.leader)
                assert partition.leader == NO_LEADER or (leader is not None and not leader.fenced)

    @invariant()
    def no_partition_of_an_active_broker_is_leaderless(self) -> None:
        active = {
            one.id for one in self.image.cluster.brokers.values() if not one.fenced and not one.in_controlled_shutdown
        }
        for one in self.image.topics.by_name.values():
            for partition in one.partitions.values():
                assert partition.leader != NO_LEADER or partition.replicas[0] not in active

    @invariant()
    def a_snapshot_loses_nothing(self) -> None:
        lost: list[str] = []
        delta = MetadataDelta(MetadataImage.EMPTY)
        for record in self.image.to_records(lost.append):
            delta.replay(record.message)
        assert lost == []
        assert delta.apply(self.image.provenance) == self.image

    @invariant()
    def static_configs_are_in_the_log_where_it_can_hold_them(self) -> None:
        has = self.image.features.require_metadata_version().has_static_configs
        assert has or not any(one.static_configs for one in self.image.cluster.brokers.values())


TestLifeOfACluster = ClusterLife.TestCase
TestLifeOfACluster.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, derandomize=True, database=None
)
