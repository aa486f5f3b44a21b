"""Which class stands for which version."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

import pytest
from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest as RequestV4
from tests.wire.samples import sample
from tests.wire.strategies import ALL_CLASSES, ALL_VERSIONS

from doorkeeper.errors import LocalProtocolError
from doorkeeper.wire.broker_registration import (
    BROKER_REGISTRATION,
    BrokerRegistrationRequestV5,
    BrokerRegistrationRequestV6,
    Feature,
    Listener,
    StaticConfig,
)
from doorkeeper.wire.cloning import with_plain_codes
from doorkeeper.wire.codec import decode_body, decode_request, encode_body, encode_request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    INIT_PRODUCER_ID,
    api_name,
    bumped_version,
    is_known,
    message_classes,
    newest_stable_version,
    newest_version,
    oldest_version,
)

ID = UUID("12345678-1234-5678-1234-567812345678")


def test_knows_every_version_of_kafka() -> None:
    for api_key, version in ALL_VERSIONS:
        request, response = message_classes(api_key, version)
        for entity in (request, response):
            assert (entity.__api_key__, entity.__version__) == (api_key, version)


@pytest.mark.parametrize(("api_key", "version"), [(3, 14 + 1), (3, -1), (999, 0), (API_VERSIONS, 5), (0, 2)])
def test_knows_no_others(api_key: int, version: int) -> None:
    assert not is_known(api_key, version)
    with pytest.raises(LocalProtocolError, match="there is no version"):
        message_classes(api_key, version)


def test_refuses_to_speak_of_an_api_that_does_not_exist() -> None:
    with pytest.raises(LocalProtocolError, match="no API with key 4"):
        newest_version(4)


def test_names_apis_as_kafkas_request_log_does() -> None:
    assert api_name(44) == "INCREMENTAL_ALTER_CONFIGS"
    assert api_name(999) == "UNKNOWN(999)"


def test_holds_back_the_version_that_kafka_calls_unstable() -> None:
    assert newest_version(INIT_PRODUCER_ID) == 6
    assert newest_stable_version(INIT_PRODUCER_ID) == 5
    assert bumped_version(INIT_PRODUCER_ID) == 7
    assert newest_stable_version(3) == newest_version(3)


class TestBumpedVersions:
    @pytest.mark.parametrize("api_key", sorted(API_KEYS - {API_VERSIONS, BROKER_REGISTRATION}))
    def test_have_the_fields_and_bytes_of_the_newest(self, api_key: int) -> None:
        newest, bumped = newest_version(api_key), bumped_version(api_key)
        assert bumped == newest + 1
        for before, after in zip(message_classes(api_key, newest), message_classes(api_key, bumped), strict=True):
            assert (after.__version__, after.__name__) == (bumped, before.__name__)
            assert [one.name for one in fields(before)] == [one.name for one in fields(after)]
            encoded = encode_body(sample(before))
            assert encode_body(sample(after)) == encoded
            assert encode_body(decode_body(after, encoded, 0)) == encoded

    def test_keep_their_class_from_call_to_call(self) -> None:
        assert message_classes(19, 8).request is message_classes(19, 8).request

    def test_travel_under_their_own_number(self) -> None:
        body = sample(message_classes(12, 5).request)
        assert decode_request(encode_request(body, 1, None)).api_version == 5


class TestBrokerRegistration:
    STATIC = (StaticConfig(name="num.io.threads", value="8"), StaticConfig(name="log.dir", value=None))

    def test_is_bumped_to_the_version_of_the_static_configs(self) -> None:
        assert newest_stable_version(BROKER_REGISTRATION) == 4
        assert bumped_version(BROKER_REGISTRATION) == 6
        assert message_classes(BROKER_REGISTRATION, 6).request is BrokerRegistrationRequestV6

    def test_carries_static_configs_at_version_6(self) -> None:
        body = build(BrokerRegistrationRequestV6, {"static_configs": self.STATIC, "cluster_id": "c"})
        assert decode_request(encode_request(body, 1, None)).body == body
        assert encode_body(body).endswith(b"\x03\x0fnum.io.threads\x028\0\x08log.dir\0\0\0")

    def test_carries_cordoned_directories_in_tag_0_from_version_5(self) -> None:
        for entity in (BrokerRegistrationRequestV5, BrokerRegistrationRequestV6):
            body = build(entity, {"cordoned_log_dirs": (ID,)})
            encoded = encode_body(body)
            assert encoded.endswith(b"\x01\x00\x11\x02" + ID.bytes)
            assert decode_body(entity, encoded, 0) == body

    def test_tells_null_from_no_cordoned_directory(self) -> None:
        unknown, none = (build(BrokerRegistrationRequestV5, {"cordoned_log_dirs": value}) for value in (None, ()))
        assert encode_body(unknown) != encode_body(none)
        assert decode_body(BrokerRegistrationRequestV5, encode_body(unknown), 0) == unknown
        assert decode_body(BrokerRegistrationRequestV5, encode_body(none), 0) == none

    def test_at_version_5_is_version_4_while_nothing_is_cordoned(self) -> None:
        values = {
            "cluster_id": "c",
            "incarnation_id": ID,
            "listeners": (Listener(name="L", host="h", port=1, security_protocol=0),),  # type: ignore[arg-type]
            "features": (Feature(name="f", min_supported_version=0, max_supported_version=1),),  # type: ignore[arg-type]
            "log_dirs": (ID,),
        }
        old, new = (build(entity, values) for entity in (RequestV4, BrokerRegistrationRequestV5))
        assert encode_body(new) == encode_body(old)

    def test_has_the_response_of_version_4(self) -> None:
        old = sample(message_classes(BROKER_REGISTRATION, 4).response)
        for version in (5, 6):
            new = sample(message_classes(BROKER_REGISTRATION, version).response)
            assert (type(new).__version__, encode_body(new)) == (version, encode_body(old))


def test_plain_codes_change_nothing_but_the_codes() -> None:
    for entity in ALL_CLASSES:
        plain = with_plain_codes(entity)
        encoded = encode_body(sample(entity))
        assert encode_body(decode_body(plain, encoded, 0)) == encoded
        assert {one.name for one in fields(plain)} == {one.name for one in fields(entity)}


def test_versions_have_no_gaps() -> None:
    for api_key in API_KEYS:
        assert all(is_known(api_key, one) for one in range(oldest_version(api_key), newest_version(api_key) + 1))


def test_tells_what_is_known_without_loading_it() -> None:
    for api_key in API_KEYS:
        for version in range(-1, newest_version(api_key) + 4):
            try:
                message_classes(api_key, version)
            except LocalProtocolError:
                assert not is_known(api_key, version), (api_key, version)
            else:
                assert is_known(api_key, version), (api_key, version)
