"""The sets of keys by which a broker decides where a key may be changed."""

from __future__ import annotations

import pickle

import pytest

from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_schema import Scope, load_schema

LEVELS = load_levels()
BROKER = {name: key for name, key in load_schema("broker").items() if not name.startswith("resource.identifier")}


def test_sets_and_scopes_tell_the_same_story() -> None:
    by_scope = {scope: {name for name, key in BROKER.items() if key.scope is scope} for scope in Scope}
    assert by_scope[Scope.READ_ONLY] == LEVELS.non_dynamic
    assert by_scope[Scope.PER_BROKER] == LEVELS.per_broker & BROKER.keys()
    assert by_scope[Scope.PER_BROKER] | by_scope[Scope.CLUSTER_WIDE] == LEVELS.all_dynamic & BROKER.keys()


def test_groups_and_keys_tell_the_same_story() -> None:
    for name, key in BROKER.items():
        assert key.reconfigurable_by == {
            group for group, names in LEVELS.reconfigurable_groups.items() if name in names
        }


def test_security_keys_are_per_broker() -> None:
    assert LEVELS.dynamic_security <= LEVELS.per_broker


def test_members_of_a_family_of_synonyms_agree_on_it() -> None:
    for name, family in LEVELS.broker_synonyms.items():
        assert name in family
        assert all(LEVELS.broker_synonyms.get(member, family) == family for member in family)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("listener.name.internal.ssl.keystore.location", "ssl.keystore.location"),
        ("listener.name.a.plain.sasl.jaas.config", "plain.sasl.jaas.config"),
        ("listener.name..x", "x"),
        ("listener.name.a.", ""),
        ("listener.name.a", None),
        ("ssl.keystore.location", None),
        ("xlistener.name.a.b", None),
        ("listener.name.a.b\u2028", None),
        ("listener.name.a.b\n", None),
    ],
)
def test_base_name_is_what_follows_the_listener_prefix(name: str, base: str | None) -> None:
    assert LEVELS.base_name(name) == base


def test_knows_feature_levels_and_intervals() -> None:
    assert LEVELS.client_metrics_interval_ms == (100, 3_600_000)
    metadata = LEVELS.features["metadata.version"]
    assert metadata["levels"]["4.3-IV0"] == metadata["max"]
    assert LEVELS.features["eligible.leader.replicas.version"]["max"] == 1


def test_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(LEVELS)) == LEVELS
