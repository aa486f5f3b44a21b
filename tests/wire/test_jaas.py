"""`sasl.jaas.config` as Kafka's JaasConfig reads it."""

from __future__ import annotations

import pytest

from doorkeeper.wire.jaas import LOGIN_MODULES, JaasError, read_login_module

PLAIN = LOGIN_MODULES["PLAIN"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {}),
        (' username="a" password="b"', {"username": "a", "password": "b"}),
        (" user_a-b.c$='x y;z'", {"user_a-b.c$": "x y;z"}),
        (" user_a=word", {"user_a": "word"}),
        ('\n  user_a = "1"\t"user_b b"="2" ', {"user_a": "1", "user_b b": "2"}),
        (r' password="a\"b\\c\tdé\101"', {"password": 'a"b\\c\tdéA'}),
        (' /* a "comment" */ user_a="1" // another\n user_b="//2"', {"user_a": "1", "user_b": "//2"}),
        (' user_a="1" user_a="2"', {"user_a": "2"}),
        (' user_é="ü😀"', {"user_é": "ü😀"}),
    ],
)
def test_reads_options(options: str, expected: dict[str, str]) -> None:
    module = read_login_module(f"{PLAIN} required{options};")
    assert module.name == PLAIN
    assert module.options == expected


@pytest.mark.parametrize("flag", ["required", "REQUISITE", "Sufficient", "optional"])
def test_takes_every_control_flag(flag: str) -> None:
    assert read_login_module(f"{PLAIN} {flag};").name == PLAIN


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Login module not specified"),
        (" // nothing", "Login module not specified"),
        (PLAIN, "control flag not specified"),
        (f"{PLAIN};", "control flag not specified"),
        (f"{PLAIN} perhaps;", "Invalid login module control flag"),
        (f"{PLAIN} required", "not terminated by semi-colon"),
        (f'{PLAIN} required user_a="hunter2"', "not terminated by semi-colon"),
        (f"{PLAIN} required user_a;", "Value not specified"),
        (f"{PLAIN} required user_a=;", "Value not specified"),
        (f"{PLAIN} required user_a=42;", "Value not specified"),
        (f"{PLAIN} required; {PLAIN} required;", "contains 2 login modules"),
    ],
)
def test_refuses_what_kafka_refuses(text: str, reason: str) -> None:
    with pytest.raises(JaasError, match=reason) as caught:
        read_login_module(text)
    assert "hunter2" not in str(caught.value)


def test_secrets_do_not_show() -> None:
    assert "hunter2" not in repr(read_login_module(f'{PLAIN} required password="hunter2";'))
