"""What a broker reports at registration: what the checks declare, and no secret."""

from __future__ import annotations

import pytest

from doorkeeper.rules.broker_checks import ALL_CHECKS, CHANGE_CHECKS, DYNAMIC_KEYS
from doorkeeper.rules.config_change import is_reported, reported_static_keys, select_reported
from doorkeeper.rules.config_schema import load_schema
from doorkeeper.rules.listener_config import endpoints
from doorkeeper.rules.reconfiguration import PARTS
from doorkeeper.rules.reported_config import only_plain
from doorkeeper.rules.static_config import Check, StaticConfig, UndeclaredKeyError, UnknownStaticError, View, keys_read
from doorkeeper.rules.verdict import RuleId

SCHEMA = load_schema("broker")


def test_reports_exactly_what_the_checks_read() -> None:
    declared = keys_read(CHANGE_CHECKS).union(*(part.reads for part in PARTS))
    assert declared <= reported_static_keys()
    extra = reported_static_keys() - declared
    assert extra == {"num.network.threads", "max.connections", "max.connection.creation.rate"}


def test_every_declared_key_is_kafkas() -> None:
    assert keys_read(ALL_CHECKS) <= SCHEMA.keys()


def test_a_check_without_a_dynamic_key_adds_nothing() -> None:
    assert all(not DYNAMIC_KEYS.isdisjoint(check.reads | check.listener_reads) for check in CHANGE_CHECKS)
    assert "replica.socket.timeout.ms" not in reported_static_keys()
    assert "controller.quorum.voters" not in reported_static_keys()


def test_no_sensitive_key_is_reported() -> None:
    sensitive = {name for name, key in SCHEMA.items() if key.sensitive}
    assert sensitive
    for name in sensitive:
        assert not is_reported(name)
        assert not is_reported(f"listener.name.internal.{name}")
        assert not is_reported(f"listener.name.internal.plain.{name}")


def test_a_sensitive_or_unknown_key_cannot_get_in_even_if_a_check_declares_it() -> None:
    assert only_plain(("ssl.keystore.password", "no.such.key", "num.io.threads")) == {"num.io.threads"}


@pytest.mark.parametrize(
    ("key", "reported"),
    [
        ("num.io.threads", True),
        ("log.retention.hours", True),
        ("listener.name.external.num.network.threads", True),
        ("listener.name.external.sasl.enabled.mechanisms", True),
        ("listener.name.external.ssl.keystore.location", False),
        ("listener.name.external.num.io.threads", False),
        ("listener.name.external", False),
        ("broker.rack", False),
        ("my.plugin.secret", False),
        ("", False),
    ],
)
def test_reports_keys_that_change_a_verdict(key: str, reported: bool) -> None:
    assert is_reported(key) is reported


def test_selects_what_is_set() -> None:
    static = {"num.io.threads": "4", "ssl.key.password": "secret", "my.plugin": "x", "node.id": "1"}
    assert select_reported(static) == {"num.io.threads": "4"}


def test_a_check_that_reads_what_it_does_not_declare_fails() -> None:
    view = View(StaticConfig({}))
    liar = Check(RuleId.CONFIG_RETENTION, frozenset(("log.roll.ms",)), lambda each: str(each.value("log.retention.ms")))
    with pytest.raises(UndeclaredKeyError):
        liar.refusal(view)
    with pytest.raises(UndeclaredKeyError):
        view.is_set("listeners")
    with pytest.raises(UndeclaredKeyError):
        view.integer("num.io.threads")
    with pytest.raises(UndeclaredKeyError):
        endpoints(view.admit(frozenset(("listeners",))))
    with pytest.raises(UndeclaredKeyError):
        view.listener_value("PLAINTEXT", "num.network.threads")


def test_a_key_that_nobody_reported_is_not_said_to_be_unset() -> None:
    view = View(StaticConfig(None)).admit(frozenset(("listeners",)))
    with pytest.raises(UnknownStaticError):
        view.is_set("listeners")
