"""What is served is what is advertised."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.errors import LocalProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.fields import identifier_version
from doorkeeper.wire.api_versions import (
    SERVED,
    Features,
    answer,
    api_versions_response,
    common_version,
    is_valid_software,
    unsupported_version_response,
)
from doorkeeper.wire.broker_registration import BROKER_REGISTRATION
from doorkeeper.wire.codec import decode_response, encode_response
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    INIT_PRODUCER_ID,
    PRODUCE,
    message_classes,
    newest_stable_version,
)
from doorkeeper.wire.registry import Door, Registry, Served, VersionRange

BROKER = frozenset({Door.BROKER})
CONTROLLER = frozenset({Door.CONTROLLER})
BOTH = frozenset(Door)
HANDLERS = (
    Served(PRODUCE, 3, 13, BROKER),
    Served(12, 0, 5, BROKER),
    Served(INIT_PRODUCER_ID, 0, 7, BROKER),
    Served(BROKER_REGISTRATION, 0, 6, CONTROLLER),
    Served(44, 0, 1, BOTH),
    SERVED,
)
FEATURES = Features(
    supported={"metadata.version": VersionRange(7, 32), "kraft.version": VersionRange(0, 1)},
    finalized={"metadata.version": 30, "kraft.version": 0},
    finalized_epoch=17,
)


class TestRegistry:
    def test_lists_the_apis_of_its_door_in_the_order_of_keys(self) -> None:
        assert list(Registry(HANDLERS, Door.BROKER)) == [PRODUCE, 12, API_VERSIONS, INIT_PRODUCER_ID, 44]
        assert list(Registry(HANDLERS, Door.CONTROLLER)) == [API_VERSIONS, 44, BROKER_REGISTRATION]

    @pytest.mark.parametrize(("version", "served"), [(2, False), (3, True), (13, True), (14, True), (15, False)])
    def test_serves_both_ends_of_a_range_and_nothing_beyond(self, version: int, served: bool) -> None:
        assert Registry(HANDLERS, Door.BROKER).serves(PRODUCE, version) is served

    def test_does_not_serve_what_nobody_declared(self) -> None:
        assert not Registry(HANDLERS, Door.BROKER).serves(3, 9)

    def test_withdraws_the_added_and_unstable_versions(self) -> None:
        with_added = Registry(HANDLERS, Door.BROKER)
        without = Registry(HANDLERS, Door.BROKER, unstable_versions=False)
        assert (with_added[12].highest, without[12].highest) == (5, 4)
        assert (with_added[INIT_PRODUCER_ID].highest, without[INIT_PRODUCER_ID].highest) == (7, 5)
        assert (with_added[PRODUCE].highest, without[PRODUCE].highest) == (14, 13)
        assert without[API_VERSIONS] == with_added[API_VERSIONS]
        assert Registry(HANDLERS, Door.CONTROLLER, unstable_versions=False)[BROKER_REGISTRATION].highest == 4

    def test_adds_the_proposals_version_only_to_what_is_served_up_to_kafkas_newest(self) -> None:
        assert Registry([Served(12, 0, 4, BROKER)], Door.BROKER)[12] == (0, 5)
        assert Registry([Served(12, 0, 3, BROKER)], Door.BROKER)[12] == (0, 3)
        assert Registry([Served(INIT_PRODUCER_ID, 0, 5, BROKER)], Door.BROKER)[INIT_PRODUCER_ID] == (0, 7)

    @pytest.mark.parametrize("api_key", sorted(API_KEYS))
    def test_adds_a_version_exactly_where_the_body_has_an_identifier(self, api_key: int) -> None:
        newest = newest_stable_version(api_key)
        offered = Served(api_key, newest, newest, BROKER).offered(unstable_versions=True)
        assert offered.highest == (identifier_version(api_key) or newest)
        assert Served(api_key, newest, newest, BROKER).offered(unstable_versions=False) == (newest, newest)

    def test_leaves_out_an_api_of_which_nothing_stable_is_left(self) -> None:
        registry = Registry([Served(12, 5, 5, BROKER)], Door.BROKER, unstable_versions=False)
        assert len(registry) == 0

    def test_refuses_two_handlers_for_one_api(self) -> None:
        with pytest.raises(LocalProtocolError, match="HEARTBEAT is declared twice"):
            Registry([Served(12, 0, 4, BROKER), Served(12, 5, 5, BROKER)], Door.BROKER)

    @pytest.mark.parametrize(("lowest", "highest"), [(0, 6), (4, 3), (-1, 4)])
    def test_refuses_a_declaration_of_versions_that_do_not_exist(self, lowest: int, highest: int) -> None:
        with pytest.raises(LocalProtocolError, match="version"):
            Served(12, lowest, highest, BROKER)


def read(version: int, response: Any) -> Any:
    return decode_response(API_VERSIONS, version, encode_response(API_VERSIONS, version, 1, response))


class TestApiVersions:
    REGISTRY = Registry(HANDLERS, Door.BROKER)

    @pytest.mark.parametrize("version", range(5))
    def test_says_what_the_registry_serves(self, version: int) -> None:
        body = read(version, api_versions_response(version, self.REGISTRY, FEATURES))
        assert body.error_code == ErrorCode.NONE
        said = {one.api_key: (one.min_version, one.max_version) for one in body.api_keys}
        assert said == dict(self.REGISTRY) | {PRODUCE: (0, 14)}

    @pytest.mark.parametrize("version", range(5))
    def test_says_that_produce_begins_at_0_for_librdkafkas_sake(self, version: int) -> None:
        body = read(version, api_versions_response(version, self.REGISTRY, FEATURES))
        assert (body.api_keys[0].api_key, body.api_keys[0].min_version) == (PRODUCE, 0)
        assert not self.REGISTRY.serves(PRODUCE, 2)

    def test_tells_features_from_version_3_on(self) -> None:
        body = read(3, api_versions_response(3, self.REGISTRY, FEATURES))
        assert body.finalized_features_epoch == 17
        finalized = [(one.name, one.min_version_level, one.max_version_level) for one in body.finalized_features]
        assert finalized == [("metadata.version", 30, 30)]
        assert not hasattr(read(2, api_versions_response(2, self.REGISTRY, FEATURES)), "supported_features")

    @pytest.mark.parametrize(
        ("version", "names"), [(3, ["metadata.version"]), (4, ["metadata.version", "kraft.version"])]
    )
    def test_hides_features_that_start_at_0_before_version_4(self, version: int, names: list[str]) -> None:
        body = read(version, api_versions_response(version, self.REGISTRY, FEATURES))
        assert [one.name for one in body.supported_features] == names

    def test_answers_an_unknown_version_at_version_0_with_the_range(self) -> None:
        body = read(0, unsupported_version_response(self.REGISTRY))
        assert body.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert [(one.api_key, one.min_version, one.max_version) for one in body.api_keys] == [(API_VERSIONS, 0, 4)]

    @pytest.mark.parametrize("text", ["a", "apache-kafka-java", "4.3.1", "a-.b"])
    def test_accepts_software_names(self, text: str) -> None:
        assert is_valid_software(text)

    @pytest.mark.parametrize("text", ["", "-a", "a-", ".a", "a b", "é", "a\n"])
    def test_refuses_software_names(self, text: str) -> None:
        assert not is_valid_software(text)

    @pytest.mark.parametrize(("name", "code"), [("sarama", ErrorCode.NONE), ("a b", ErrorCode.INVALID_REQUEST)])
    def test_answers_an_unlawful_software_name_with_invalid_request(self, name: str, code: ErrorCode) -> None:
        request = message_classes(API_VERSIONS, 4).request(client_software_name=name, client_software_version="1")
        body = read(4, answer(4, request, self.REGISTRY, FEATURES))
        assert body.error_code == code
        assert bool(body.api_keys) is (code == ErrorCode.NONE)

    def test_asks_old_clients_no_name(self) -> None:
        request = build(message_classes(API_VERSIONS, 2).request, {})
        assert read(2, answer(2, request, self.REGISTRY, Features())).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("ours", "theirs", "version"),
    [((0, 4), (0, 9), 4), ((0, 9), (2, 4), 4), ((3, 5), (0, 2), None), ((0, 2), (3, 5), None), ((0, 2), None, None)],
)
def test_picks_the_highest_common_version(
    ours: tuple[int, int], theirs: tuple[int, int] | None, version: int | None
) -> None:
    assert common_version(VersionRange(*ours), theirs and VersionRange(*theirs)) == version
