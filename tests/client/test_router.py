"""Which node is asked, and what happens when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from tests.client.fake_cluster import HOST, NO_WAIT, FakeCluster, HangUpError

from doorkeeper.client import Admin, AlterConfigOp, ClientSettings, ConfigResource, NewTopic, QuotaEntity, ResourceType
from doorkeeper.client.channel import choose_versions
from doorkeeper.client.errors import (
    InvalidRequestError,
    NotControllerError,
    RequestTimedOutError,
    ResourceIdentifierTooLargeError,
    UnsupportedEndpointTypeError,
    UnsupportedVersionError,
)
from doorkeeper.wire.codec import Request
from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.messages import API_VERSIONS, newest_version, oldest_version
from doorkeeper.wire.registry import VersionRange

CREATE_TOPICS, ALTER, UPDATE_FEATURES, ALTER_QUOTAS = 19, 44, 57, 49
QUICK = ClientSettings(request_timeout=5, api_timeout=5, retry_backoff=0.001, retry_backoff_max=0.002)
HASTY = ClientSettings(request_timeout=5, api_timeout=0.1, retry_backoff=0.001, retry_backoff_max=0.002)
TOPIC = ConfigResource(ResourceType.TOPIC, "t")
DEFAULT_BROKER = ConfigResource(ResourceType.BROKER, "")
OPS = [AlterConfigOp("a", "b")]

Scenario = Callable[[FakeCluster, Admin], Awaitable[None]]


def run(scenario: Scenario, *, nodes: int = 1, controllers: bool = False, settings: ClientSettings = QUICK) -> None:
    async def play() -> None:
        async with (
            asyncio.timeout(20),
            FakeCluster(nodes) as cluster,
            Admin(cluster.bootstrap, controllers=controllers, settings=settings) as admin,
        ):
            await scenario(cluster, admin)

    asyncio.run(play())


def altered(code: int = 0, message: str | None = None) -> Callable[[Request], Mapping[str, Any]]:
    def answer(request: Request) -> Mapping[str, Any]:
        return {
            "responses": [
                {
                    "error_code": wire_code(code),
                    "error_message": message,
                    "resource_type": one.resource_type,
                    "resource_name": one.resource_name,
                }
                for one in request.body.resources
            ],
            **NO_WAIT,
        }

    return answer


def in_turn(*handlers: Callable[[Request], Mapping[str, Any] | None]) -> Callable[[Request], Mapping[str, Any] | None]:
    waiting = list(handlers)
    return lambda request: (waiting.pop(0) if len(waiting) > 1 else waiting[0])(request)


def hang_up(request: Request) -> None:
    raise HangUpError


def resources_asked(cluster: FakeCluster, node: int) -> list[str]:
    return [one.resource_name for request in cluster.nodes[node].asked_of(ALTER) for one in request.body.resources]


def test_a_broker_is_asked_about_itself_and_any_about_the_rest() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered())
        brokers = [ConfigResource(ResourceType.BROKER, str(number)) for number in (1, 2, 3)]
        logger = ConfigResource(ResourceType.BROKER_LOGGER, "2")
        results = await admin.incremental_alter_configs(dict.fromkeys([*brokers, logger, TOPIC, DEFAULT_BROKER], OPS))
        assert len(results.require()) == 6
        asked = {number: resources_asked(cluster, number) for number in (1, 2, 3)}
        anywhere = [name for names in asked.values() for name in names if name in ("t", "")]
        assert sorted(anywhere) == ["", "t"]
        assert {number: [n for n in names if n.isdigit()] for number, names in asked.items()} == {
            1: ["1"],
            2: ["2", "2"],
            3: ["3"],
        }

    run(scenario, nodes=3)


def test_with_bootstrap_controllers_changes_go_to_the_active_one_and_loggers_to_their_own() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.controller_id = 2
        cluster.on(ALTER, altered())
        broker = ConfigResource(ResourceType.BROKER, "77")
        logger = ConfigResource(ResourceType.BROKER_LOGGER, "3")
        await admin.incremental_alter_configs({broker: OPS, TOPIC: OPS, logger: OPS})
        assert resources_asked(cluster, 1) == []
        assert sorted(resources_asked(cluster, 2)) == ["77", "t"]
        assert resources_asked(cluster, 3) == ["3"]

    run(scenario, nodes=3, controllers=True)


def test_calls_that_kafka_does_not_offer_at_controllers_are_refused_before_connecting() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        with pytest.raises(UnsupportedEndpointTypeError):
            await admin.describe_client_quotas()
        assert cluster.nodes[1].connections == 0

    run(scenario, controllers=True)


def test_not_controller_is_retried_at_the_new_controller() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        def moved(request: Request) -> Mapping[str, Any]:
            cluster.controller_id = 2
            return altered(NotControllerError.code)(request)

        cluster.nodes[1].handlers[ALTER] = moved
        cluster.nodes[2].handlers[ALTER] = altered()
        results = await admin.incremental_alter_configs({TOPIC: OPS})
        assert results[TOPIC] is None
        assert resources_asked(cluster, 2) == ["t"]

    run(scenario, nodes=2, controllers=True)


def test_a_lost_connection_is_made_again() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, in_turn(hang_up, hang_up, altered()))
        await admin.incremental_alter_configs({TOPIC: OPS})
        assert len(cluster.nodes[1].asked_of(ALTER)) == 3
        assert cluster.nodes[1].connections == 3

    run(scenario)


def test_a_refusal_of_one_item_is_not_retried() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered(InvalidRequestError.code, "no"))
        results = await admin.incremental_alter_configs({TOPIC: OPS, DEFAULT_BROKER: OPS})
        with pytest.raises(InvalidRequestError, match="no"):
            results[TOPIC]
        with pytest.raises(InvalidRequestError) as caught:
            results.require()
        assert len(caught.value.__notes__) == 1
        assert len(cluster.nodes[1].asked_of(ALTER)) == 1

    run(scenario)


def test_the_new_code_raises_its_own_error_with_the_servers_message_and_is_not_retried() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered(134, "Resource name is too long: 250"))
        results = await admin.incremental_alter_configs({TOPIC: OPS})
        with pytest.raises(ResourceIdentifierTooLargeError, match="too long: 250"):
            results[TOPIC]
        assert len(cluster.nodes[1].asked_of(ALTER)) == 1

    run(scenario)


def test_retries_end_with_the_time_and_name_the_last_reason() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered(NotControllerError.code))
        with pytest.raises(RequestTimedOutError, match="not the correct controller") as caught:
            await admin.incremental_alter_configs({TOPIC: OPS})
        assert isinstance(caught.value.__cause__, NotControllerError)
        assert len(cluster.nodes[1].asked_of(ALTER)) > 1

    run(scenario, settings=HASTY)


def test_retries_end_with_their_number() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered(NotControllerError.code))
        with pytest.raises(NotControllerError):
            await admin.incremental_alter_configs({TOPIC: OPS})
        assert len(cluster.nodes[1].asked_of(ALTER)) == 3

    settings = ClientSettings(retries=2, retry_backoff=0.001, retry_backoff_max=0.002)
    run(scenario, settings=settings)


def test_a_silent_node_is_given_up() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, lambda request: None)
        with pytest.raises(RequestTimedOutError):
            await admin.incremental_alter_configs({TOPIC: OPS})

    run(scenario, settings=ClientSettings(request_timeout=0.01, api_timeout=0.1, retry_backoff=0.001))


def test_a_node_that_is_gone_is_passed_over_for_another() -> None:
    async def play() -> None:
        async with FakeCluster() as cluster:
            nobody = await asyncio.start_server(lambda reader, writer: None, HOST, 0)
            port = nobody.sockets[0].getsockname()[1]
            nobody.close()
            async with Admin(f"{HOST}:{port},{cluster.bootstrap}", settings=QUICK) as admin:
                assert (await admin.describe_cluster()).cluster_id == "fake"

    asyncio.run(play())


def test_an_api_that_the_node_does_not_offer_is_named() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        with pytest.raises(UnsupportedVersionError, match="does not support DESCRIBE_QUORUM"):
            await admin.describe_quorum()

    run(scenario)


def test_a_retriable_error_of_a_whole_answer_is_retried() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        def updated(code: int) -> Callable[[Request], Mapping[str, Any]]:
            return lambda request: {"error_code": wire_code(code), "error_message": None, **NO_WAIT}

        cluster.on(UPDATE_FEATURES, in_turn(updated(RequestTimedOutError.code), updated(0)))
        await admin.update_features({"metadata.version": 30})
        assert len(cluster.nodes[1].asked_of(UPDATE_FEATURES)) == 2

    run(scenario)


def test_many_quotas_are_one_request() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        def answer(request: Request) -> Mapping[str, Any]:
            return {
                "entries": [
                    {
                        "error_code": wire_code(0),
                        "error_message": None,
                        "entity": [
                            {"entity_type": part.entity_type, "entity_name": part.entity_name} for part in entry.entity
                        ],
                    }
                    for entry in request.body.entries
                ],
                **NO_WAIT,
            }

        cluster.on(ALTER_QUOTAS, answer)
        wanted: dict[QuotaEntity, dict[str, float | None]]
        wanted = {QuotaEntity(user=f"u{n}", client_id="c"): {"producer_byte_rate": None} for n in range(1000)}
        results = await admin.alter_client_quotas(wanted)
        assert len(results.require()) == 1000
        (request,) = cluster.nodes[1].asked_of(ALTER_QUOTAS)
        assert all(op.remove for entry in request.body.entries for op in entry.ops)

    run(scenario)


def test_topics_held_back_by_a_quota_are_asked_for_again_alone() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        def answer(request: Request) -> Mapping[str, Any]:
            first = len(cluster.nodes[1].asked_of(CREATE_TOPICS)) == 1
            codes = {"early": 0, "late": 89 if first else 0, "bad": 17}
            return {
                "topics": [
                    {
                        "name": one.name,
                        "topic_id": None,
                        "error_code": wire_code(codes[one.name]),
                        "error_message": None,
                        "topic_config_error_code": 0,
                        "num_partitions": 1,
                        "replication_factor": 1,
                        "configs": (),
                    }
                    for one in request.body.topics
                ],
                **NO_WAIT,
            }

        cluster.on(CREATE_TOPICS, answer)
        results = await admin.create_topics([NewTopic("early"), NewTopic("late"), NewTopic("bad")])
        assert sorted(results.values) == ["early", "late"]
        assert list(results.errors) == ["bad"]
        asked = [[one.name for one in request.body.topics] for request in cluster.nodes[1].asked_of(CREATE_TOPICS)]
        assert asked == [["early", "late", "bad"], ["late"]]

    run(scenario)


def test_calls_that_overlap_share_one_connection() -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        await asyncio.gather(*(admin.describe_cluster() for _ in range(20)))
        assert cluster.nodes[1].connections == 1

    run(scenario)


def _kafka() -> dict[int, VersionRange]:
    return {key: VersionRange(oldest_version(key), newest_version(key)) for key in (3, 18, 19, 20, 32, 37, 44)}


def _bumped() -> dict[int, VersionRange]:
    return {key: VersionRange(low, high + (key != API_VERSIONS)) for key, (low, high) in _kafka().items()}


class TestChooseVersions:
    def test_takes_kafkas_newest(self) -> None:
        assert choose_versions(_kafka()) == {key: span.highest for key, span in _kafka().items()}

    def test_takes_the_new_versions_of_a_node_that_offers_them_all(self) -> None:
        assert choose_versions(_bumped()) == {key: span.highest for key, span in _bumped().items()}

    def test_distrusts_a_single_new_version(self) -> None:
        offered = _kafka() | {19: _bumped()[19]}
        assert choose_versions(offered)[19] == newest_version(19)

    def test_goes_down_to_what_an_old_node_knows(self) -> None:
        assert choose_versions({32: VersionRange(0, 2), 44: VersionRange(0, 0)}) == {32: 2, 44: 0}

    def test_leaves_out_what_there_is_no_common_version_of(self) -> None:
        offered = {32: VersionRange(0, 0), 44: VersionRange(40, 50), 9999: VersionRange(0, 1)}
        assert choose_versions(offered) == {}


@pytest.mark.parametrize("version", [0, 1])
def test_a_request_is_made_at_the_version_that_the_node_offers(version: int) -> None:
    async def scenario(cluster: FakeCluster, admin: Admin) -> None:
        cluster.on(ALTER, altered())
        cluster.nodes[1].offered[ALTER] = (0, version)
        await admin.incremental_alter_configs({TOPIC: OPS})
        assert [request.api_version for request in cluster.nodes[1].asked_of(ALTER)] == [version]

    run(scenario)


def test_the_client_id_goes_with_every_request_as_it_is() -> None:
    odd = 'a b/c:d*é"\n😀'

    async def play() -> None:
        async with FakeCluster() as cluster, Admin(cluster.bootstrap, client_id=odd) as admin:
            await admin.describe_cluster()
            assert {request.client_id for request in cluster.nodes[1].asked} == {odd}

    asyncio.run(play())
