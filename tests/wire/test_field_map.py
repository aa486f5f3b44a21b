"""The field map against the schemas: kio's in every run, Kafka's own where its jars are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kio.schema.index import api_key_map
from kio.schema.types import GroupId, TopicName, TransactionalId
from tests.wire import kafka_schemas
from tools.list_fields import BYTES_LIKE, STRING, leaves, request_versions, typed_fields

from doorkeeper.rules.fields import Field, OpaqueField, load_apis, load_fields, load_opaque_fields
from doorkeeper.rules.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.wire.kafka_schemas import Schema

KIND_OF_TYPE: dict[object, Kind] = {
    TopicName: Kind.TOPIC_NAME,
    GroupId: Kind.GROUP_ID,
    TransactionalId: Kind.TRANSACTIONAL_ID,
}

Versions = dict[tuple[int, str], set[int]]


def mapped(rows: Iterable[Field | OpaqueField]) -> Versions:
    """The versions of each field by the map, in kio's names: those of all its rows together."""
    return _gather((row.api_key, row.path, row) for row in rows)


def mapped_in_kafkas_names(rows: Iterable[Field | OpaqueField]) -> Versions:
    return _gather((row.api_key, row.kafka_path, row) for row in rows)


def _gather(rows: Iterable[tuple[int, str, Field | OpaqueField]]) -> Versions:
    versions: Versions = {}
    for api_key, path, row in rows:
        versions.setdefault((api_key, path), set()).update(range(row.first_version, row.last_version + 1))
    return versions


def selecting(path: str, field: str) -> str:
    """The path of a field beside the one at `path`."""
    parent, dot, _ = path.rpartition(".")
    return f"{parent}{dot}{field}"


class TestAgainstKio:
    def test_every_string_field_is_classified(self) -> None:
        assert typed_fields({STRING}).keys() - mapped(load_fields()).keys() == set()

    def test_every_row_matches_a_string_field(self) -> None:
        assert mapped(load_fields()).keys() - typed_fields({STRING}).keys() == set()

    def test_rows_cover_just_the_versions_that_have_the_field(self) -> None:
        assert mapped(load_fields()) == typed_fields({STRING})

    def test_every_bytes_field_is_listed_as_opaque_in_its_versions(self) -> None:
        assert mapped(load_opaque_fields()) == typed_fields(BYTES_LIKE)

    def test_fields_that_kio_types_as_names_have_that_kind(self) -> None:
        typed = {
            (api_key, path): KIND_OF_TYPE[python_type]
            for api_key, _, request in request_versions()
            for path, _, python_type in leaves(request)
            if python_type in KIND_OF_TYPE
        }
        told = {
            (field.api_key, field.path): field.kind for field in load_fields() if (field.api_key, field.path) in typed
        }
        assert told == typed
        assert len(typed) > 50

    def test_selecting_field_stands_beside_the_field_in_every_version_of_the_row(self) -> None:
        missing = []
        for api_key, version, request in request_versions():
            paths = {path for path, *_ in leaves(request)}
            missing += [
                (row.api_name, version, row.selector.field)
                for row in load_fields()
                if row.selector
                and row.api_key == api_key
                and row.first_version <= version <= row.last_version
                and selecting(row.path, row.selector.field) not in paths
            ]
        assert missing == []

    def test_apis_have_kios_names_and_versions(self) -> None:
        versions: dict[int, set[int]] = {}
        for api_key, version, _ in request_versions():
            versions.setdefault(api_key, set()).add(version)
        assert {
            api.key: set(range(api.first_version, api.last_version + 1)) for api in load_apis().values()
        } == versions
        assert {api.key: api.log_name.lower() for api in load_apis().values()} == dict(api_key_map)


@pytest.fixture(scope="module")
def schemas() -> dict[int, Schema]:
    return kafka_schemas.load_request_schemas()


@pytest.mark.kafka
class TestAgainstKafka:
    @staticmethod
    def typed(schemas: dict[int, Schema], types: set[str]) -> Versions:
        return {
            (api_key, path): set(versions)
            for api_key, schema in schemas.items()
            for path, kafka_type, versions in kafka_schemas.leaves(schema)
            if kafka_type in types
        }

    def test_string_fields_of_bodies_have_kafkas_names_and_versions(self, schemas: dict[int, Schema]) -> None:
        bodies = [field for field in load_fields() if not field.in_header]
        assert mapped_in_kafkas_names(bodies) == self.typed(schemas, {"string"})

    def test_opaque_fields_have_kafkas_names_and_versions(self, schemas: dict[int, Schema]) -> None:
        assert mapped_in_kafkas_names(load_opaque_fields()) == self.typed(schemas, {"bytes", "records"})

    def test_selecting_fields_have_kafkas_names(self, schemas: dict[int, Schema]) -> None:
        named = {
            (row.api_key, selecting(row.kafka_path, row.selector.kafka_field)) for row in load_fields() if row.selector
        }
        assert named <= self.typed(schemas, {"int8", "string"}).keys()

    def test_apis_have_kafkas_names_versions_and_listeners(self, schemas: dict[int, Schema]) -> None:
        told = {
            api_key: (schema["name"], kafka_schemas.valid_versions(schema), sorted(schema["listeners"]))
            for api_key, schema in schemas.items()
        }
        assert told == {
            api.key: (f"{api.name}Request", range(api.first_version, api.last_version + 1), list(api.listeners))
            for api in load_apis().values()
        }

    def test_stable_versions_leave_out_just_those_that_kafka_calls_unstable(self, schemas: dict[int, Schema]) -> None:
        unstable = {api_key for api_key, schema in schemas.items() if schema.get("latestVersionUnstable", False)}
        assert {api.key for api in load_apis().values() if api.stable_version == api.last_version - 1} == unstable
