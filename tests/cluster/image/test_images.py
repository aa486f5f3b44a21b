"""Each image by itself: image + delta = image, and what contradicts it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.cluster.image.samples import (
    ACL,
    BROKER,
    CONTROLLER,
    DIRECTORY,
    LEVEL,
    PARTITION,
    QUOTA,
    RETENTION,
    SCRAM,
    TOKEN,
    TOPIC,
    of,
    replayed,
)

from doorkeeper.cluster.image.cluster import ClusterImage
from doorkeeper.cluster.image.configs import ConfigResource, ConfigurationsImage
from doorkeeper.cluster.image.features import FeaturesImage
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.quotas import ClientQuotasImage, QuotaEntityKey
from doorkeeper.cluster.image.registrations import BrokerRegistration, ControllerRegistration, Listener, VersionRange
from doorkeeper.cluster.image.security import AclsImage, DelegationTokensImage, ScramImage
from doorkeeper.cluster.image.topics import DIRECTORY_MIGRATING, PartitionRegistration, TopicImage, TopicsImage
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.schema import Message

TOPIC_ID = TOPIC.topic_id
REGISTRATION = BrokerRegistration(
    id=1,
    epoch=5,
    incarnation_id=UUID(int=11),
    listeners={"PLAINTEXT": Listener("localhost", 9092, 0)},
    supported_features={"metadata.version": VersionRange(7, 1000)},
    rack="r1",
    directories=(DIRECTORY,),
    static_configs={"num.io.threads": "8", "listeners": None},
)
PARTITION_0 = PartitionRegistration(
    replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=(DIRECTORY,)
)


def partition_after(*changes: types.PartitionChangeRecord) -> PartitionRegistration:
    return of(TOPIC, PARTITION, *changes).topics.by_name["orders"].partitions[0]


def change(**fields: object) -> types.PartitionChangeRecord:
    return types.PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **fields)  # type: ignore[arg-type]


class TestFeatures:
    def test_takes_levels_and_removes_at_zero(self) -> None:
        group = types.FeatureLevelRecord(name="group.version", feature_level=1)
        image = of(LEVEL, group)
        assert image.features == FeaturesImage({"group.version": 1}, MetadataVersion.DOORKEEPER)
        assert replayed(image, replace(group, feature_level=0)).features == FeaturesImage(
            {}, MetadataVersion.DOORKEEPER
        )

    def test_leaves_kraft_version_to_the_raft_layer(self) -> None:
        assert of(types.FeatureLevelRecord(name="kraft.version", feature_level=1)).features == FeaturesImage.EMPTY

    def test_refuses_a_metadata_version_nobody_knows(self) -> None:
        with pytest.raises(ReplayError, match="level 500 is not known"):
            of(replace(LEVEL, feature_level=500))


class TestCluster:
    def test_registers_a_broker_with_its_static_configs(self) -> None:
        assert of(BROKER).cluster == ClusterImage({1: REGISTRATION}, {})

    def test_registering_again_replaces_all_of_it(self) -> None:
        again = types.RegisterBrokerRecord(broker_id=1, broker_epoch=6, incarnation_id=UUID(int=99))
        broker = of(BROKER, again).cluster.brokers[1]
        assert broker == BrokerRegistration(id=1, epoch=6, incarnation_id=UUID(int=99), listeners={}, rack="")

    def test_registers_a_controller(self) -> None:
        listeners = {"CONTROLLER": Listener("localhost", 9093, 0)}
        expected = ControllerRegistration(id=1, incarnation_id=UUID(int=12), listeners=listeners)
        assert of(CONTROLLER).cluster == ClusterImage({}, {1: expected})

    def test_unregisters(self) -> None:
        gone = types.UnregisterBrokerRecord(broker_id=1, broker_epoch=5)
        assert replayed(of(BROKER), gone).cluster == ClusterImage.EMPTY

    @pytest.mark.parametrize(
        ("record", "changed"),
        [
            (types.UnfenceBrokerRecord(id=1, epoch=5), {"fenced": False}),
            (types.FenceBrokerRecord(id=1, epoch=5), {"fenced": True}),
            (types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5), {}),
            (types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1), {"fenced": False}),
            (
                types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, in_controlled_shutdown=1),
                {"in_controlled_shutdown": True},
            ),
            (
                types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, log_dirs=(UUID(int=9), UUID(int=8))),
                {"directories": (UUID(int=8), UUID(int=9))},
            ),
            (
                types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, cordoned_log_dirs=()),
                {"cordoned_directories": ()},
            ),
        ],
    )
    def test_changes_what_the_record_says_and_keeps_static_configs(
        self, record: Message, changed: dict[str, object]
    ) -> None:
        expected = replace(REGISTRATION, **changed)  # type: ignore[arg-type]
        assert replayed(of(BROKER), record).cluster == ClusterImage({1: expected}, {})
        assert of(BROKER, record).cluster == ClusterImage({1: expected}, {})

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            (types.FenceBrokerRecord(id=2, epoch=5), "broker 2 is changed, but not registered"),
            (types.UnfenceBrokerRecord(id=1, epoch=4), "changed at epoch 4, but registered at 5"),
            (types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=6), "changed at epoch 6"),
            (types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=2), "2 is no value of fenced"),
            (
                types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, in_controlled_shutdown=-1),
                "-1 is no value of inControlledShutdown",
            ),
        ],
    )
    def test_refuses_what_contradicts_it(self, record: Message, message: str) -> None:
        with pytest.raises(ReplayError, match=message):
            of(BROKER, record)


class TestTopics:
    def test_is_found_by_id_and_by_name(self) -> None:
        topic = TopicImage("orders", TOPIC_ID, {0: PARTITION_0})
        assert of(TOPIC, PARTITION).topics == TopicsImage({TOPIC_ID: topic}, {"orders": topic})

    def test_adds_a_partition_later(self) -> None:
        later = replayed(of(TOPIC, PARTITION), replace(PARTITION, partition_id=1))
        assert set(later.topics.by_id[TOPIC_ID].partitions) == {0, 1}
        assert later.topics.by_id[TOPIC_ID] is later.topics.by_name["orders"]

    def test_removal_takes_the_topics_configs_along(self) -> None:
        gone = types.RemoveTopicRecord(topic_id=TOPIC_ID)
        assert replayed(of(TOPIC, PARTITION, RETENTION), gone) == of(types.NoOpRecord())
        assert of(TOPIC, PARTITION, RETENTION, gone) == of(types.NoOpRecord())

    def test_a_name_can_be_taken_again_in_the_same_delta(self) -> None:
        again = replace(TOPIC, topic_id=UUID(int=77))
        image = replayed(of(TOPIC, PARTITION), types.RemoveTopicRecord(topic_id=TOPIC_ID), again)
        assert image.topics.by_name["orders"] == TopicImage("orders", UUID(int=77))
        assert set(image.topics.by_id) == {UUID(int=77)}

    def test_unchanged_topics_image_is_the_same_object(self) -> None:
        image = of(TOPIC, PARTITION)
        assert replayed(image, types.NoOpRecord()).topics is image.topics

    @pytest.mark.parametrize(
        ("record", "changed"),
        [
            (change(), {}),
            (change(isr=()), {"isr": ()}),
            (change(leader=-1), {"leader": -1, "leader_epoch": 1}),
            (change(leader=1), {"leader_epoch": 1}),
            (change(leader_recovery_state=1), {"leader_recovery_state": 1}),
            (change(adding_replicas=(3,)), {"adding_replicas": (3,)}),
            (change(removing_replicas=(1,)), {"removing_replicas": (1,)}),
            (change(eligible_leader_replicas=(1,)), {"elr": (1,)}),
            (change(last_known_elr=(1,)), {"last_known_elr": (1,)}),
            (
                change(replicas=(1, 2), directories=(DIRECTORY, UUID(int=8))),
                {"replicas": (1, 2), "directories": (DIRECTORY, UUID(int=8))},
            ),
        ],
    )
    def test_partition_change_bumps_the_epoch(
        self, record: types.PartitionChangeRecord, changed: dict[str, object]
    ) -> None:
        assert partition_after(record) == replace(PARTITION_0, partition_epoch=1, **changed)  # type: ignore[arg-type]

    def test_partition_without_directories_is_migrating(self) -> None:
        image = of(TOPIC, replace(PARTITION, replicas=(1, 2), directories=()))
        assert image.topics.by_name["orders"].partitions[0].directories == (DIRECTORY_MIGRATING,) * 2

    @pytest.mark.parametrize("name", ["", "orders"])
    def test_clears_the_elr(self, name: str) -> None:
        image = of(TOPIC, PARTITION, change(eligible_leader_replicas=(1,)), types.ClearElrRecord(topic_name=name))
        assert image.topics.by_name["orders"].partitions[0] == replace(PARTITION_0, partition_epoch=2)

    def test_clearing_an_empty_elr_changes_nothing(self) -> None:
        image = of(TOPIC, PARTITION)
        assert replayed(image, types.ClearElrRecord()).topics is image.topics

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            (types.RemoveTopicRecord(topic_id=UUID(int=9)), "no such topic"),
            (replace(PARTITION, topic_id=UUID(int=9)), "no such topic"),
            (types.PartitionChangeRecord(partition_id=0, topic_id=UUID(int=9)), "no such topic"),
            (types.PartitionChangeRecord(partition_id=9, topic_id=TOPIC_ID), "partition 9 .* not there"),
            (types.ClearElrRecord(topic_name="other"), "no such topic"),
            (replace(PARTITION, directories=(DIRECTORY, DIRECTORY)), "1 replicas have 2 directories"),
            (change(replicas=(1, 2)), "2 replicas have 1 directories"),
        ],
    )
    def test_refuses_what_contradicts_it(self, record: Message, message: str) -> None:
        with pytest.raises(ReplayError, match=message):
            of(TOPIC, PARTITION, record)


class TestConfigs:
    def test_sets_and_removes(self) -> None:
        image = of(RETENTION, replace(RETENTION, name="x", value=""))
        assert image.configs == ConfigurationsImage({ConfigResource(2, "orders"): {"retention.ms": "5", "x": ""}})
        assert replayed(image, replace(RETENTION, value=None)).configs.of(2, "orders") == {"x": ""}

    def test_resource_without_configs_is_gone(self) -> None:
        assert replayed(of(RETENTION), replace(RETENTION, value=None)).configs == ConfigurationsImage.EMPTY

    def test_removing_what_is_not_there_changes_nothing(self) -> None:
        image = of(RETENTION)
        assert replayed(image, replace(RETENTION, name="x", value=None)).configs is image.configs

    def test_unknown_resource_has_no_configs(self) -> None:
        assert of(RETENTION).configs.of(4, "orders") == {}


class TestQuotas:
    ENTITY: QuotaEntityKey = (("client-id", "a b"), ("user", None))

    def test_entity_is_the_same_in_any_order(self) -> None:
        other = replace(QUOTA, entity=QUOTA.entity[::-1], key="consumer_byte_rate")
        expected = {self.ENTITY: {"producer_byte_rate": 10.0, "consumer_byte_rate": 10.0}}
        assert of(QUOTA, other).client_quotas == ClientQuotasImage(expected)

    def test_entity_without_quotas_is_gone(self) -> None:
        assert replayed(of(QUOTA), replace(QUOTA, remove=True)).client_quotas == ClientQuotasImage.EMPTY
        assert of(QUOTA, replace(QUOTA, remove=True)).client_quotas == ClientQuotasImage.EMPTY


class TestSecurity:
    def test_acls_come_and_go(self) -> None:
        gone = types.RemoveAccessControlEntryRecord(id=ACL.id)
        assert of(ACL).acls == AclsImage({ACL.id: ACL})
        assert replayed(of(ACL), gone).acls == AclsImage.EMPTY
        assert of(ACL, gone).acls == AclsImage.EMPTY

    def test_refuses_to_remove_an_acl_that_is_not_there(self) -> None:
        with pytest.raises(ReplayError, match="but there is none"):
            of(types.RemoveAccessControlEntryRecord(id=ACL.id))

    def test_scram_credentials_are_kept_by_mechanism_and_user(self) -> None:
        other = replace(SCRAM, mechanism=2)
        assert of(SCRAM, other).scram == ScramImage({(1, "alice"): SCRAM, (2, "alice"): other})
        gone = types.RemoveUserScramCredentialRecord(name="alice", mechanism=2)
        assert replayed(of(SCRAM, other), gone).scram == ScramImage({(1, "alice"): SCRAM})

    def test_delegation_tokens_come_and_go(self) -> None:
        assert of(TOKEN).delegation_tokens == DelegationTokensImage({"t1": TOKEN})
        gone = types.RemoveDelegationTokenRecord(token_id="t1")
        assert replayed(of(TOKEN), gone).delegation_tokens == DelegationTokensImage.EMPTY


class TestProducerIds:
    def test_keeps_the_next_one(self) -> None:
        assert MetadataImage.EMPTY.next_producer_id == -1
        assert of(types.ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=1000)).next_producer_id == 1000
