"""The schema of config keys and the judgement of single values."""

from __future__ import annotations

import gzip
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.errors import FactsError
from doorkeeper.rules import config_schema, config_validators
from doorkeeper.rules.config_schema import (
    RESOURCE_TYPES,
    ConfigKey,
    ConfigProblem,
    ConfigType,
    Scope,
    Synonym,
    convert_to_string,
    could_be_a_class,
    default_value,
    load_facts,
    load_quota_schema,
    load_schema,
    parse_value,
    read_validator,
)
from doorkeeper.rules.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, SHORT_MAX, SHORT_MIN

VECTORS = Path(__file__).parent.parent / "vectors" / "config-values-4.3.1.jsonl.gz"


def key_of(config_type: ConfigType, validator: config_validators.Validator | None = None) -> ConfigKey:
    return ConfigKey("k", config_type, None, validator=validator)


def message_of(key: ConfigKey, text: str | None) -> str:
    problem = parse_value(key, text)
    assert isinstance(problem, ConfigProblem)
    assert problem.name == key.name
    return problem.message


def test_agrees_with_kafka_on_every_vector() -> None:
    header, *lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()
    about = json.loads(header)
    loadable = set(about["loadable_classes"])
    assert about["kafka_version"] == config_schema.KAFKA_VERSION
    assert about["rows"] == len(lines)
    different = []
    for line in lines:
        resource_type, name, text, *kafkas = json.loads(line)
        answer = parse_value(load_schema(resource_type)[name], text, loadable.__contains__)
        ours = [None, answer.message] if isinstance(answer, ConfigProblem) else [convert_to_string(answer), None]
        if ours != kafkas:
            different.append((resource_type, name, text, kafkas, ours))
    assert different == []


def test_vectors_ask_about_every_key_of_kafkas() -> None:
    lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()[1:]
    asked = {tuple(json.loads(line)[:2]) for line in lines}
    own = {("broker", "resource.identifier.limit.enable")}
    assert asked | own == {(kind, name) for kind in RESOURCE_TYPES for name in load_schema(kind)}


class TestSchema:
    @pytest.mark.parametrize("resource_type", RESOURCE_TYPES)
    def test_every_default_passes_its_own_validator(self, resource_type: str) -> None:
        for key in load_schema(resource_type).values():
            if not key.required:
                value = default_value(key)
                assert (value is None) == (key.default is None)

    @pytest.mark.parametrize("resource_type", RESOURCE_TYPES)
    def test_survives_pickling(self, resource_type: str) -> None:
        schema = load_schema(resource_type)
        again = pickle.loads(pickle.dumps(schema))
        assert again == schema
        assert (again.resource_type, again.kafka_version) == (resource_type, "4.3.1")

    def test_is_sorted_by_name(self) -> None:
        assert list(load_schema("broker")) == sorted(load_schema("broker"))

    def test_says_what_it_is_without_printing_all_keys(self) -> None:
        assert repr(load_schema("client_metrics")) == "Schema('client_metrics', '4.3.1', 3 keys)"

    def test_doorkeepers_own_key_is_a_broker_key_of_the_whole_cluster(self) -> None:
        key = load_schema("broker")["resource.identifier.limit.enable"]
        assert (key.type, key.default, key.scope) == (ConfigType.BOOLEAN, "false", Scope.CLUSTER_WIDE)
        assert key.name not in load_schema("topic")

    def test_passwords_and_only_they_are_sensitive(self) -> None:
        for resource_type in RESOURCE_TYPES:
            for key in load_schema(resource_type).values():
                assert key.sensitive == (key.type is ConfigType.PASSWORD)

    def test_knows_scope_reconfigurable_parts_and_requiredness_of_broker_keys(self) -> None:
        broker = load_schema("broker")
        assert broker["num.io.threads"].scope is Scope.CLUSTER_WIDE
        assert broker["num.io.threads"].reconfigurable_by == {"thread_pool"}
        assert broker["listeners"].scope is Scope.PER_BROKER
        assert broker["node.id"].scope is Scope.READ_ONLY
        assert broker["process.roles"].required
        assert broker["unstable.api.versions.enable"].internal

    def test_knows_synonyms_with_their_conversions_in_kafkas_order(self) -> None:
        assert load_schema("topic")["retention.ms"].synonyms == (
            Synonym("log.retention.ms", None),
            Synonym("log.retention.minutes", "minutes_to_ms"),
            Synonym("log.retention.hours", "hours_to_ms"),
        )
        assert load_schema("group")["share.isolation.level"].synonyms == ()

    def test_only_lists_take_append_and_subtract(self) -> None:
        topic = load_schema("topic")
        assert topic["cleanup.policy"].is_list
        assert not topic["compression.type"].is_list

    def test_quota_keys_differ_by_entity(self) -> None:
        assert "SCRAM-SHA-256" in load_quota_schema("user")
        assert "SCRAM-SHA-256" not in load_quota_schema("client")
        assert list(load_quota_schema("ip")) == ["connection_creation_rate"]


class TestBrokenFacts:
    def test_no_facts_of_that_version(self) -> None:
        with pytest.raises(FactsError, match=r"kafka-0\.8/broker\.json"):
            load_schema("broker", "0.8")

    def test_no_such_resource_type(self) -> None:
        with pytest.raises(FactsError, match="teapot"):
            load_schema("teapot")

    def test_facts_of_another_version_than_the_folder_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(config_schema, "_load_json", lambda path: {"kafka_version": "3.9.0"})
        with pytest.raises(FactsError, match=r"not of Kafka 4\.3\.1"):
            load_facts("broker", "4.3.1")

    def test_an_own_key_that_kafka_has_already(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row: dict[str, Any] = {"name": "node.id", "type": "INT", "default": "1", "required": False, "validator": None}
        row |= {"sensitive": False, "internal": False}
        monkeypatch.setattr(config_schema, "_load_json", lambda path: {"keys": [row], "kafka_version": "4.3.1"})
        with pytest.raises(FactsError, match=r"already: node\.id"):
            load_schema.__wrapped__("broker", "4.3.1")

    def test_a_validator_of_unknown_kind(self) -> None:
        with pytest.raises(FactsError, match="'astrology'"):
            read_validator({"kind": "astrology"})

    def test_a_validator_that_nobody_ported(self) -> None:
        with pytest.raises(FactsError, match="'Stars'"):
            read_validator({"kind": "named", "name": "Stars"})

    def test_a_default_that_its_own_key_refuses(self) -> None:
        with pytest.raises(FactsError, match="default of k is unlawful"):
            default_value(ConfigKey("k", ConfigType.INT, "many"))


class TestClassNames:
    @pytest.mark.parametrize("name", ["x", "a.B", "a.B$C", "java.lang.String"])
    def test_takes_what_java_could_load(self, name: str) -> None:
        assert could_be_a_class(name)
        assert parse_value(key_of(ConfigType.CLASS), f" {name} ") == name

    @pytest.mark.parametrize("name", ["", " ", ".x", "x.", "a..b", "a/b", "[I", "[La.B;"])
    def test_refuses_what_java_could_not(self, name: str) -> None:
        expected = f"Invalid value {name} for configuration k: Class {name} could not be found."
        assert message_of(key_of(ConfigType.CLASS), name) == expected

    def test_believes_who_knows_the_class_path(self) -> None:
        problem = parse_value(key_of(ConfigType.CLASS), "a.B", lambda name: False)
        assert isinstance(problem, ConfigProblem)

    def test_braces_in_a_name_are_no_template(self) -> None:
        assert "Class {0} /" in message_of(key_of(ConfigType.CLASS), "{0} /")


class TestValidatorsWithoutVectors:
    """What no key of Kafka 4.3.1 leads to, or what only null does."""

    def test_composite_gives_the_first_refusal(self) -> None:
        row = {"kind": "all", "of": [{"kind": "non_null"}, {"kind": "non_empty"}]}
        key = key_of(ConfigType.STRING, read_validator(row))
        assert parse_value(key, "x") == "x"
        assert message_of(key, None) == "Invalid value null for configuration k: entry must be non null"
        assert message_of(key, "") == "Invalid value  for configuration k: String must be non-empty"

    def test_range_open_at_both_ends_takes_every_number_but_not_null(self) -> None:
        key = key_of(ConfigType.DOUBLE, read_validator({"kind": "range", "min": None, "max": None}))
        assert parse_value(key, "-1e308") == -1e308
        assert message_of(key, None) == "Invalid value null for configuration k: Value must be non-null"

    def test_range_takes_nan(self) -> None:
        key = key_of(ConfigType.DOUBLE, read_validator({"kind": "range", "min": 0, "max": 1}))
        value = parse_value(key, "NaN")
        assert isinstance(value, float)
        assert math.isnan(value)

    def test_repeated_entries_stay_where_no_list_validator_drops_them(self) -> None:
        assert parse_value(key_of(ConfigType.LIST), "a,a") == ["a", "a"]
        listing = config_validators.ListOf(None, empty_allowed=True, null_allowed=True)
        assert parse_value(key_of(ConfigType.LIST, listing), "a,a") == ["a"]

    def test_empty_list_names_the_valid_values(self) -> None:
        listing = config_validators.ListOf(("a", "b"), empty_allowed=False, null_allowed=False)
        expected = "Configuration 'k' must not be empty. Valid values include: [a, b]"
        assert message_of(key_of(ConfigType.LIST, listing), "") == expected

    def test_throttled_replicas_meet_null_without_a_crash(self) -> None:
        key = load_schema("topic")["leader.replication.throttled.replicas"]
        assert "must be a List but was null" in message_of(key, None)


integers = {
    ConfigType.INT: st.integers(INT_MIN, INT_MAX),
    ConfigType.SHORT: st.integers(SHORT_MIN, SHORT_MAX),
    ConfigType.LONG: st.integers(LONG_MIN, LONG_MAX),
}
spaces = st.text(alphabet=[chr(code) for code in range(0x21)], max_size=3)


class TestLaws:
    @given(st.sampled_from(sorted(integers)).flatmap(lambda kind: st.tuples(st.just(kind), integers[kind])), spaces)
    def test_a_printed_integer_parses_to_itself_whatever_surrounds_it(
        self, typed: tuple[ConfigType, int], space: str
    ) -> None:
        kind, number = typed
        text = convert_to_string(number)
        assert text is not None
        assert parse_value(key_of(kind), space + text + space) == number

    @given(st.floats(allow_nan=False))
    def test_a_printed_double_parses_to_itself(self, number: float) -> None:
        assert parse_value(key_of(ConfigType.DOUBLE), convert_to_string(number)) == number

    @given(st.booleans())
    def test_a_printed_boolean_parses_to_itself(self, truth: bool) -> None:
        assert parse_value(key_of(ConfigType.BOOLEAN), convert_to_string(truth)) is truth

    @given(st.sampled_from(list(ConfigType)), st.text())
    def test_what_parses_prints_as_something_that_parses_to_the_same(self, kind: ConfigType, text: str) -> None:
        value = parse_value(key_of(kind), text)
        if isinstance(value, ConfigProblem):
            assert value.message.startswith(f"Invalid value {text} for configuration k: ")
        else:
            assert repr(parse_value(key_of(kind), convert_to_string(value))) == repr(value)

    @given(st.sampled_from([key for kind in RESOURCE_TYPES for key in load_schema(kind).values()]), st.text())
    def test_every_text_is_parsed_or_refused_for_every_key(self, key: ConfigKey, text: str) -> None:
        answer = parse_value(key, text)
        if isinstance(answer, ConfigProblem):
            assert answer.name == key.name
            assert answer.message

    def test_null_without_a_validator_is_null(self) -> None:
        assert parse_value(key_of(ConfigType.INT), None) is None
        assert convert_to_string(None) is None
