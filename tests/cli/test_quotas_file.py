"""The file of quotas: what is read, what is refused, and that what is written is read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorkeeper.cli.quotas_file import dump_quotas, load_quotas, show_entity
from doorkeeper.errors import InputError
from doorkeeper.rules.client_id import DEFAULT, QuotaEntity

ODD = 'a b/c:d*é"\n😀'
NAMES = st.one_of(st.just(DEFAULT), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
ENTITIES = st.one_of(
    st.builds(QuotaEntity, user=NAMES),
    st.builds(QuotaEntity, client_id=NAMES),
    st.builds(QuotaEntity, user=NAMES, client_id=NAMES),
    st.builds(QuotaEntity, ip=NAMES),
)
VALUES = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "request_percentage"]), st.floats(allow_nan=False, allow_infinity=False)
)


def _load(tmp_path: Path, text: str) -> dict[QuotaEntity, dict[str, float | None]]:
    path = tmp_path / "quotas.yaml"
    path.write_text(text, encoding="utf-8")
    return load_quotas(path)


def test_null_is_the_default_entity_and_a_removal(tmp_path: Path) -> None:
    text = "- entity: {user: alice, client-id: null}\n  quotas: {producer_byte_rate: 1e6, request_percentage: ~}\n"
    entity = QuotaEntity(user="alice", client_id=DEFAULT)
    assert _load(tmp_path, text) == {entity: {"producer_byte_rate": 1e6, "request_percentage": None}}


def test_names_are_text_as_written(tmp_path: Path) -> None:
    text = "- entity: {client-id: 007}\n  quotas: {}\n- entity: {client-id: 'null'}\n  quotas: {}\n"
    assert list(_load(tmp_path, text)) == [QuotaEntity(client_id="007"), QuotaEntity(client_id="null")]


def test_json_is_read_with_its_escapes(tmp_path: Path) -> None:
    text = json.dumps([{"entity": {"client-id": ODD}, "quotas": {"producer_byte_rate": 0.5}}])
    assert _load(tmp_path, text) == {QuotaEntity(client_id=ODD): {"producer_byte_rate": 0.5}}


def test_a_list_in_yamls_short_form_is_read(tmp_path: Path) -> None:
    assert _load(tmp_path, "[{entity: {ip: 10.0.0.1}, quotas: {connection_creation_rate: 5}}]") == {
        QuotaEntity(ip="10.0.0.1"): {"connection_creation_rate": 5.0}
    }


def test_an_empty_file_has_no_quotas(tmp_path: Path) -> None:
    assert _load(tmp_path, "") == {}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}", "expected a list"),
        ("- 1", r"\[0\]: expected the keys"),
        ("- {entity: {user: a}}", r"\[0\]: expected the keys"),
        ("- {entity: {user: a}, quotas: {}, more: 1}", r"\[0\]: expected the keys"),
        ("- {entity: {}, quotas: {}}", r"\[0\]\.entity: expected a mapping"),
        ("- {entity: {group: a}, quotas: {}}", r"\[0\]\.entity: 'group' is none of"),
        ("- {entity: {user: ''}, quotas: {}}", r"\[0\]\.entity\.user: expected a name"),
        ("- {entity: {user: [a]}, quotas: {}}", r"\[0\]\.entity\.user: expected a name"),
        ("- {entity: {ip: a, user: b}, quotas: {}}", r"\[0\]\.entity: an ip goes with no user"),
        ("- {entity: {user: a}, quotas: [1]}", r"\[0\]\.quotas: expected a mapping"),
        ("- {entity: {user: a}, quotas: {x: many}}", r"\[0\]\.quotas\.x: 'many' is no number"),
        ("- {entity: {user: a}, quotas: {x: nan}}", r"\[0\]\.quotas\.x"),
        ("- {entity: {user: a}, quotas: {x: 1_000}}", r"\[0\]\.quotas\.x"),
        ("- {entity: {user: a}, quotas: {x: {}}}", r"\[0\]\.quotas\.x"),
        ("- {entity: {user: a}, quotas: {}}\n- {entity: {user: a}, quotas: {}}", r"\[1\]\.entity: stands in the file"),
        ("- {entity: {user: a, user: b}, quotas: {}}", "stands twice"),
        ("- [", "broken YAML"),
    ],
)
def test_refuses_by_file_and_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(InputError, match=place) as caught:
        _load(tmp_path, text)
    assert "quotas.yaml" in str(caught.value)


@given(st.dictionaries(ENTITIES, VALUES, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path: Path, quotas: dict[QuotaEntity, dict[str, float]]) -> None:
    assert _load(tmp_path, dump_quotas(quotas)) == quotas


def test_names_stay_on_one_line() -> None:
    text = dump_quotas({QuotaEntity(client_id=ODD): {"producer_byte_rate": 1024.0}})
    assert text.splitlines() == [
        "- entity:",
        '    client-id: "a b/c:d*é\\"\\n\\U0001F600"',
        "  quotas:",
        "    producer_byte_rate: 1024",
    ]


def test_an_entity_is_shown_on_one_line() -> None:
    assert show_entity(QuotaEntity(user=DEFAULT, client_id="a\nb")) == "user (default), client-id 'a\\nb'"
