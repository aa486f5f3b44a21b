"""Client ids as names: proven on what Kafka's own classes printed, then by the laws of KIP-190."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rules.java_vectors import committed, printed

from doorkeeper.rules.client_id import (
    DEFAULT,
    ClientIdForm,
    DefaultEntity,
    QuotaEntity,
    QuotaType,
    desanitize,
    is_plain,
    jmx_sanitize,
    needs_jmx_quoting,
    parse_quota_entity_path,
    quota_entity_path,
    quota_metric_name,
    sanitize,
)

KITCHEN_SINK = 'a b/c:d*é"\n😀'

# All that the wire can carry: UTF-8 has no surrogates.
NAMES = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.text(' %+*~"\\?\n,=:/abcé😀'))
PLAIN_NAMES = st.text(string.ascii_letters + string.digits + "._-")


def desanitized(text: str) -> str | None:
    try:
        return desanitize(text)
    except ValueError:
        return None


class TestVectorsOfKafka:
    def test_every_name_becomes_what_kafka_makes_of_it(self) -> None:
        header, rows = committed("sanitizer-names")
        assert header["kafka_version"] == "4.3.1"
        assert len(rows) > 2500
        for row in rows:
            text = row["text"]
            got = (sanitize(text), desanitized(text), jmx_sanitize(text))
            assert got == (row["sanitize"], row["desanitize"], row["jmx"]), ascii(text)

    def test_names_include_every_ascii_and_latin_character_every_plane_and_lone_surrogates(self) -> None:
        _, rows = committed("sanitizer-names")
        texts = {row["text"] for row in rows}
        assert {"", KITCHEN_SINK} | {chr(code) for code in range(0x100)} <= texts
        assert {ord(text) >> 16 for text in texts if len(text) == 1} == set(range(17))
        high, low = "\ud83d", "\ude00"
        assert {high, low, low + high, "a" + high, low + "z"} <= texts

    def test_every_surrogate_pair_in_two_characters_is_sanitised_as_the_one_it_spells(self) -> None:
        assert sanitize("\ud83d\ude00") == sanitize("😀") == "%F0%9F%98%80"
        assert jmx_sanitize("\ud83d\ude00") == jmx_sanitize("😀") == '"😀"'
        assert desanitize("\ud83d\ude00") == "😀"

    def test_every_object_name_is_the_one_that_kafka_registers(self) -> None:
        _, rows = committed("sanitizer-object-names")
        assert len(rows) > 200
        for row in rows:
            user, client_id = row["user"], row["client_id"]
            name = quota_metric_name(QuotaType(row["type"]), user, client_id, ClientIdForm.QUOTED)
            assert name == row["name"]

    def test_object_names_cover_every_quota_type(self) -> None:
        _, rows = committed("sanitizer-object-names")
        assert {row["type"] for row in rows} == set(QuotaType)

    @pytest.mark.kafka
    @pytest.mark.parametrize(("section", "name"), [("names", "sanitizer-names"), ("objects", "sanitizer-object-names")])
    def test_kafka_still_says_the_same(self, section: str, name: str) -> None:
        header, rows = printed("SanitizerVectors", section)
        known_header, known_rows = committed(name)
        assert header["kafka_version"] == known_header["kafka_version"]
        assert rows == known_rows


class TestSanitize:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("", ""),
            ("my client", "my%20client"),
            ("a+b", "a%2Bb"),
            ("*", "%2A"),
            ("~", "%7E"),
            ("100%", "100%25"),
            ("\ud83d", "%3F"),
            (KITCHEN_SINK, "a%20b%2Fc%3Ad%2A%C3%A9%22%0A%F0%9F%98%80"),
        ],
    )
    def test_encodes_special_characters(self, name: str, text: str) -> None:
        assert sanitize(name) == text

    @given(NAMES)
    def test_comes_back_whole(self, name: str) -> None:
        assert desanitize(sanitize(name)) == name

    @given(NAMES)
    def test_is_undone_by_decoding_once_so_it_was_encoded_once(self, name: str) -> None:
        text = sanitize(name)
        assert sanitize(desanitize(text)) == text
        assert (sanitize(text) == text) == is_plain(name)

    @given(PLAIN_NAMES)
    def test_leaves_plain_names_as_they_are(self, name: str) -> None:
        assert sanitize(name) == name
        assert is_plain(name)

    @given(NAMES)
    def test_changes_a_name_exactly_if_it_is_not_plain(self, name: str) -> None:
        assert is_plain(name) == (sanitize(name) == name) == bool(re.fullmatch(r"[A-Za-z0-9._-]*", name))

    @pytest.mark.parametrize("name", ["é", "a\n", "ａ", "٣", " "])
    def test_takes_no_letter_or_digit_beyond_ascii_for_plain(self, name: str) -> None:
        assert not is_plain(name)

    @given(NAMES, NAMES)
    def test_never_gives_two_names_one_text(self, name: str, other: str) -> None:
        assert (sanitize(name) == sanitize(other)) == (name == other)

    @given(NAMES)
    def test_gives_only_what_is_legal_in_a_path_and_an_object_name(self, name: str) -> None:
        assert re.fullmatch(r"(?:[A-Za-z0-9._-]|%[0-9A-F]{2})*", sanitize(name))
        assert not needs_jmx_quoting(sanitize(name))


class TestDesanitize:
    @pytest.mark.parametrize("text", ["%", "a%4", "%zz", "%%41", "%-1", "%4\u00e9", "%😀", "%41%"])
    def test_refuses_a_percent_sign_without_two_digits_and_names_the_text(self, text: str) -> None:
        with pytest.raises(ValueError, match=re.escape(f"not a sanitised name: '{text}'")):
            desanitize(text)

    def test_message_is_safe_on_a_terminal(self) -> None:
        with pytest.raises(ValueError, match=re.escape(r"'\x1b[2J%zz'")):
            desanitize("\x1b[2J%zz")

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("a+b", "a b"),
            ("a%2Bb", "a+b"),
            ("%c3%A9", "é"),
            ("%C3", "\ufffd"),
            ("%ED%A0%80x", "\ufffdx"),
            ("%2541", "%41"),
        ],
    )
    def test_decodes_as_java_does(self, text: str, name: str) -> None:
        assert desanitize(text) == name


class TestJmxSanitize:
    @pytest.mark.parametrize("name", ["", "app-1", "my client", "a%20b", "tab\there", "x_y.z"])
    def test_leaves_what_jmx_can_bear(self, name: str) -> None:
        assert not needs_jmx_quoting(name)
        assert jmx_sanitize(name) == name

    @pytest.mark.parametrize(
        ("name", "text"),
        [("a,b", '"a,b"'), ("a\n", '"a\\n"'), ('"', '"\\""'), ("a*?\\", '"a\\*\\?\\\\"'), ("é", '"é"'), ("\r", '"\r"')],
    )
    def test_quotes_the_rest(self, name: str, text: str) -> None:
        assert needs_jmx_quoting(name)
        assert jmx_sanitize(name) == text

    @given(NAMES, NAMES)
    def test_never_gives_two_names_one_text(self, name: str, other: str) -> None:
        assert (jmx_sanitize(name) == jmx_sanitize(other)) == (name == other)


class TestQuotaMetricName:
    def test_is_url_encoded_unless_told_otherwise(self) -> None:
        name = quota_metric_name(QuotaType.PRODUCE, user="CN=Alice", client_id="app 1/x")
        assert name == "kafka.server:type=Produce,user=CN%3DAlice,client-id=app%201%2Fx"

    def test_quotes_only_the_client_id_in_the_later_form(self) -> None:
        name = quota_metric_name(QuotaType.FETCH, user="CN=Alice", client_id="app 1/x", form=ClientIdForm.QUOTED)
        assert name == 'kafka.server:type=Fetch,user=CN%3DAlice,client-id="app 1/x"'

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_leaves_out_empty_tags(self, nothing: str | None) -> None:
        assert quota_metric_name(QuotaType.REQUEST, nothing, "a") == "kafka.server:type=Request,client-id=a"
        assert quota_metric_name(QuotaType.REQUEST, "u", nothing) == "kafka.server:type=Request,user=u"
        assert quota_metric_name(QuotaType.CONTROLLER_MUTATION, nothing) == "kafka.server:type=ControllerMutation"

    @given(PLAIN_NAMES.filter(bool))
    def test_forms_agree_on_plain_client_ids(self, client_id: str) -> None:
        forms = {quota_metric_name(QuotaType.PRODUCE, client_id=client_id, form=form) for form in ClientIdForm}
        assert forms == {f"kafka.server:type=Produce,client-id={client_id}"}


PATHS = [
    (QuotaEntity(client_id="a b"), "/config/clients/a%20b"),
    (QuotaEntity(client_id=DEFAULT), "/config/clients/<default>"),
    (QuotaEntity(client_id="<default>"), "/config/clients/%3Cdefault%3E"),
    (QuotaEntity(user="CN=Alice"), "/config/users/CN%3DAlice"),
    (QuotaEntity(user=DEFAULT), "/config/users/<default>"),
    (QuotaEntity(user="u/1", client_id="c*"), "/config/users/u%2F1/clients/c%2A"),
    (QuotaEntity(user="u", client_id=DEFAULT), "/config/users/u/clients/<default>"),
    (QuotaEntity(user=DEFAULT, client_id="c"), "/config/users/<default>/clients/c"),
    (QuotaEntity(user=DEFAULT, client_id=DEFAULT), "/config/users/<default>/clients/<default>"),
    (QuotaEntity(ip="192.0.2.1"), "/config/ips/192.0.2.1"),
    (QuotaEntity(ip="2001:db8::1"), "/config/ips/2001:db8::1"),
    (QuotaEntity(ip=DEFAULT), "/config/ips/<default>"),
]
ENTITY_NAMES = st.one_of(st.just(DEFAULT), NAMES.filter(bool))


class TestQuotaEntityPath:
    @pytest.mark.parametrize(("entity", "path"), PATHS, ids=[path for _, path in PATHS])
    def test_is_where_kafka_keeps_the_quota_and_back(self, entity: QuotaEntity, path: str) -> None:
        assert quota_entity_path(user=entity.user, client_id=entity.client_id, ip=entity.ip) == path
        assert parse_quota_entity_path(path) == entity

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "needs a user, a client id or an ip"),
            ({"ip": "192.0.2.1", "user": "u"}, "an ip alone"),
            ({"ip": DEFAULT, "client_id": "c"}, "an ip alone"),
            ({"user": ""}, "the user of a quota is empty"),
            ({"user": "u", "client_id": ""}, "the client id of a quota is empty"),
            ({"ip": ""}, "not an ip: ''"),
            ({"ip": "192.0.2.0/24"}, "not an ip: '192.0.2.0/24'"),
            ({"ip": "<default>"}, "not an ip"),
        ],
    )
    def test_refuses_entities_that_can_not_be(self, arguments: dict[str, str | DefaultEntity], message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            quota_entity_path(**arguments)

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/",
            "/config",
            "config/clients/a",
            "/config/clients",
            "/config/clients/",
            "/config/clients/a/",
            "/config/users/",
            "/config/users//clients/c",
            "/config/users/u/clients/",
            "/config/users/u/clients",
            "/config/users/u/ips/c",
            "/config/clients/c/users/u",
            "/config/ips/",
            "/config/topics/t",
        ],
    )
    def test_refuses_paths_of_another_shape(self, path: str) -> None:
        with pytest.raises(ValueError, match=re.escape(f"not a quota entity path: '{path}'")):
            parse_quota_entity_path(path)

    def test_refuses_a_name_that_can_not_be_decoded(self) -> None:
        with pytest.raises(ValueError, match="not a sanitised name: '100%'"):
            parse_quota_entity_path("/config/clients/100%")

    @given(st.one_of(st.none(), ENTITY_NAMES), ENTITY_NAMES)
    def test_comes_back_whole(self, user: str | DefaultEntity | None, client_id: str | DefaultEntity) -> None:
        path = quota_entity_path(user=user, client_id=client_id)
        assert parse_quota_entity_path(path) == QuotaEntity(user=user, client_id=client_id)

    def test_lone_surrogate_is_a_question_mark(self) -> None:
        assert quota_entity_path(client_id="\ud83d") == "/config/clients/%3F"
