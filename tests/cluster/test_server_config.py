"""From `server.properties` to a node's configuration: what is read, and every fault at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.server_config import (
    IDENTIFIER_LIMIT,
    UNSTABLE_VERSIONS,
    Address,
    BadConfigurationError,
    Release,
    Role,
    read_node_config,
)
from doorkeeper.wire.metadata.levels import MetadataVersion

COMBINED = {
    "node.id": "3",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "3@127.0.0.1:9093",
    "log.dirs": "/var/a,/var/b",
}


def faults_of(**changed: str) -> tuple[str, ...]:
    properties = COMBINED | {key.replace("_", "."): value for key, value in changed.items()}
    with pytest.raises(BadConfigurationError) as caught:
        read_node_config(properties)
    return caught.value.faults


def refused_or_read(properties: dict[str, str]) -> None:
    """Any other exception is a bug, and so is a refusal without a reason."""
    with pytest.raises(BadConfigurationError, match=r"\S"):
        raise BadConfigurationError([str(read_node_config(properties).node_id)])


class TestReading:
    def test_reads_what_kafkas_file_says(self) -> None:
        config = read_node_config(COMBINED | {"broker.rack": "r1", "metadata.log.dir": "/var/m"})
        assert config.node_id == 3
        assert config.roles == {Role.BROKER, Role.CONTROLLER}
        assert [(one.listener, one.port) for one in config.listeners] == [("PLAINTEXT", 9092)]
        assert [(one.listener, one.port) for one in config.controller_listeners] == [("CONTROLLER", 9093)]
        assert config.controllers == (Address(3, "127.0.0.1", 9093),)
        assert config.log_dirs == (Path("/var/a"), Path("/var/b"))
        assert config.metadata_log_dir == Path("/var/m")
        assert config.rack == "r1"

    def test_metadata_goes_to_the_first_directory_unless_it_has_its_own(self) -> None:
        assert read_node_config(COMBINED).metadata_log_dir == Path("/var/a")

    def test_bootstrap_controllers_are_read_without_ids(self) -> None:
        properties = {
            "node.id": "4",
            "process.roles": "broker",
            "listeners": "PLAINTEXT://:9092",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": "[::1]:9093",
        }
        assert read_node_config(properties).controllers == (Address(None, "::1", 9093),)

    def test_advertised_listeners_are_what_clients_are_told(self) -> None:
        config = read_node_config(COMBINED | {"advertised.listeners": "PLAINTEXT://kafka.example:19092"})
        assert [(one.host, one.port) for one in config.advertised] == [("kafka.example", 19092)]

    def test_secrets_are_not_in_its_repr(self) -> None:
        config = read_node_config(COMBINED | {"ssl.keystore.password": "hunter2"})
        assert "hunter2" not in repr(config)

    @pytest.mark.parametrize(
        ("text", "level"),
        [
            ("4.3-IV0", MetadataVersion.IBP_4_3_IV0),
            ("4.2", MetadataVersion.IBP_4_2_IV1),
            ("doorkeeper", MetadataVersion.DOORKEEPER),
        ],
    )
    def test_metadata_version_is_asked_for_by_name(self, text: str, level: MetadataVersion) -> None:
        assert read_node_config(COMBINED | {"metadata.version": text}).metadata_version is level

    @pytest.mark.parametrize(("release", "expected"), [(Release.KAFKA_4, False), (Release.KAFKA_5, True)])
    def test_release_decides_the_default_of_the_limits(self, release: Release, expected: bool) -> None:
        assert read_node_config(COMBINED, release).flag(IDENTIFIER_LIMIT) is expected
        assert read_node_config(COMBINED | {IDENTIFIER_LIMIT: "false"}, release).flag(IDENTIFIER_LIMIT) is False

    def test_new_versions_are_on_unless_they_are_switched_off(self) -> None:
        assert read_node_config(COMBINED).flag(UNSTABLE_VERSIONS)
        assert not read_node_config(COMBINED | {UNSTABLE_VERSIONS: "false"}).flag(UNSTABLE_VERSIONS)


class TestRefusing:
    def test_says_every_fault_at_once(self) -> None:
        faults = faults_of(num_io_threads="0", log_segment_bytes="many", metadata_version="9.9")
        assert len(faults) >= 3
        for fragment in ("num.io.threads", "log.segment.bytes", "metadata.version 9.9"):
            assert any(fragment in fault for fault in faults)

    def test_unknown_keys_are_no_fault_for_they_may_be_a_plugins(self) -> None:
        config = read_node_config(COMBINED | {"confluent.something": "1"})
        assert (config.node_id, config.warnings) == (3, ("Unknown key confluent.something",))

    @pytest.mark.parametrize(
        ("protocols", "fault"),
        [
            (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:SSL",
                "Listener PLAINTEXT asks for SSL, and only PLAINTEXT and SASL_PLAIN",
            ),
            (
                "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "CONTROLLER asks for SASL_PLAINTEXT, and only PLAINTEXT is",
            ),
        ],
    )
    def test_refuses_a_protocol_that_is_not_served(self, protocols: str, fault: str) -> None:
        faults = faults_of(listener_security_protocol_map=protocols, inter_broker_listener_name="PLAINTEXT")
        assert any(fault in one for one in faults)

    @pytest.mark.parametrize(
        ("key", "value", "fault"),
        [
            ("listeners", "PLAINTEXT://:70000,CONTROLLER://:9093", "Listener PLAINTEXT has port 70000"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:65536", "Listener CONTROLLER has port 65536"),
            ("advertised.listeners", "PLAINTEXT://a:99999", "Listener PLAINTEXT has port 99999"),
        ],
    )
    def test_refuses_a_port_that_is_none(self, key: str, value: str, fault: str) -> None:
        assert faults_of(**{key: value}) == (f"{fault}: a port is a number up to 65535",)

    def test_what_is_not_served_is_said_beside_kafkas_own_faults(self) -> None:
        faults = faults_of(
            num_io_threads="0",
            listeners="PLAINTEXT://:70000,CONTROLLER://127.0.0.1:9093",
            controller_quorum_voters="3@127.0.0.1:9093,4@127.0.0.1:9094",
        )
        for fragment in ("num.io.threads", "port 70000", "names 2 controllers"):
            assert any(fragment in fault for fault in faults)

    @pytest.mark.parametrize("key", ["node.id", "process.roles", "log.dirs", "listeners", "controller.quorum.voters"])
    @pytest.mark.parametrize("value", ["", "x", "-1", ",", "a://b:c,d", "broker,broker", "1@", "\0", "é😀"])
    def test_any_text_is_told_by_a_sentence(self, key: str, value: str) -> None:
        refused_or_read(COMBINED | {key: value})

    @pytest.mark.parametrize("key", sorted(COMBINED))
    def test_any_key_may_be_missing(self, key: str) -> None:
        refused_or_read({name: value for name, value in COMBINED.items() if name != key})

    def test_refuses_a_quorum_of_several(self) -> None:
        faults = faults_of(controller_quorum_voters="3@127.0.0.1:9093,4@127.0.0.1:9094")
        assert faults == ("controller.quorum.voters names 2 controllers; this cluster has one, with the only replica",)


class TestLayingOut:
    def test_without_a_file_it_is_one_combined_node_on_kafkas_ports(self) -> None:
        (config,) = lay_out(None, Wishes())
        assert [(one.host, one.port) for one in config.listeners] == [("127.0.0.1", 9092)]
        assert [(one.host, one.port) for one in config.controller_listeners] == [("127.0.0.1", 9093)]
        assert config.log_dirs == (Path("doorkeeper-data"),)

    def test_brokers_have_their_own_ids_doors_directories_and_overrides(self) -> None:
        configs = lay_out(
            None,
            Wishes(brokers=3, overrides={"num.io.threads": "4"}, broker_overrides={2: {"num.io.threads": "16"}}),
        )
        assert [config.node_id for config in configs] == [1, 2, 3]
        assert [config.listeners[0].port for config in configs] == [9092, 9094, 9095]
        assert [config.is_controller for config in configs] == [True, False, False]
        assert [config.static["num.io.threads"] for config in configs] == ["4", "16", "4"]
        assert len({config.log_dirs for config in configs}) == 3

    def test_port_moves_both_doors(self) -> None:
        (config,) = lay_out(None, Wishes(port=2000))
        assert (config.listeners[0].port, config.controller_listeners[0].port) == (2000, 2001)

    @pytest.mark.parametrize("brokers", [0, 101])
    def test_refuses_a_number_of_brokers_that_is_none(self, brokers: int) -> None:
        with pytest.raises(BadConfigurationError, match="--brokers is a number from 1 to 100"):
            lay_out(None, Wishes(brokers=brokers))

    def test_refuses_overrides_of_a_broker_that_is_not_there(self) -> None:
        with pytest.raises(BadConfigurationError, match="names broker 2"):
            lay_out(None, Wishes(broker_overrides={2: {"num.io.threads": "1"}}))

    def test_faults_name_their_broker(self) -> None:
        with pytest.raises(BadConfigurationError) as caught:
            lay_out(None, Wishes(brokers=2, broker_overrides={2: {"num.io.threads": "0"}}))
        assert [fault[:10] for fault in caught.value.faults] == ["broker 2: "]

    def test_file_goes_with_neither_port_nor_brokers(self) -> None:
        with pytest.raises(BadConfigurationError) as caught:
            lay_out(COMBINED, Wishes(port=0, brokers=2))
        assert len(caught.value.faults) == 2
