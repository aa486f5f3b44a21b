"""The command line of `doorkeeper configs`, read and checked as Kafka's tool does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cli.configs_options import (
    ConfigsOptions,
    RefusedError,
    check_options,
    parse_add_config,
    read_flags,
    read_name_file,
)

SERVER = ("--bootstrap-server", "h:1")


def options(*words: str) -> ConfigsOptions:
    return check_options(read_flags([*SERVER, *words]))


def refusal(*words: str) -> str:
    with pytest.raises(RefusedError) as caught:
        check_options(read_flags(words))
    return str(caught.value)


class TestFlags:
    def test_values_follow_or_stand_behind_an_equals_sign(self) -> None:
        assert read_flags(["--topic", "a", "--topic=b=c"]).flags == (("topic", "a"), ("topic", "b=c"))

    def test_the_next_word_is_the_value_whatever_it_looks_like(self) -> None:
        assert read_flags(["--client", "--describe"]).flags == (("client", "--describe"),)

    def test_words_that_belong_to_nothing_are_kept_apart(self) -> None:
        given = read_flags(["a", "--all", "-", "--", "--describe"])
        assert (given.flags, given.ignored) == ((("all", None),), ("a", "-", "--describe"))

    def test_unknown_flags_and_missing_values_are_refused_in_joptsimples_words(self) -> None:
        assert refusal("--nonsense", "x") == "nonsense is not a recognized option"
        assert refusal("--describe", "--topic") == "Option topic requires an argument"
        assert refusal("--all=yes") == "all is not a recognized option"

    def test_a_flag_for_one_value_may_not_stand_twice(self) -> None:
        words = (*SERVER, "--describe", "--topic", "a", "--topic", "b")
        assert refusal(*words) == "Found multiple arguments for option topic, but you asked for only one"


class TestEntities:
    def test_names_and_defaults_pair_with_types_in_their_order(self) -> None:
        made = options(
            *("--alter", "--entity-type", "users", "--entity-type", "clients", "--entity-default"),
            *("--entity-name", "c", "--add-config", "producer_byte_rate=1"),
        )
        assert (made.entity_types, made.entity_names) == (("users", "clients"), ("", "c"))

    def test_short_forms_come_in_kafkas_fixed_order(self) -> None:
        made = options("--describe", "--user", "u", "--client", "c")
        assert (made.entity_types, made.entity_names) == (("clients", "users"), ("c", "u"))

    def test_defaults_have_the_empty_name(self) -> None:
        made = options("--describe", "--broker-defaults")
        assert (made.entity_types, made.entity_names, made.default) == (("brokers",), ("",), True)

    def test_a_type_alone_means_all_of_them(self) -> None:
        assert options("--describe", "--entity-type", "topics").entity_names == ()

    @pytest.mark.parametrize(
        "flag", ["topic", "client", "user", "group", "client-metrics", "ip", "broker", "broker-logger"]
    )
    def test_every_short_form_is_a_type(self, flag: str) -> None:
        name = "127.0.0.1" if flag == "ip" else "7"
        made = options("--describe", f"--{flag}", name)
        assert made.entity_names == (name,)
        assert made.entity_types[0].startswith(flag)

    def test_any_client_id_is_a_name(self) -> None:
        odd = 'a b/c:d*é"\n😀'
        assert options("--describe", "--client", odd).entity_names == (odd,)


class TestNameFile:
    def test_a_string_is_one_name_and_null_the_default(self, tmp_path: Path) -> None:
        path = tmp_path / "name.json"
        path.write_text('"a\\nb\\ud83d\\ude00"')
        assert read_name_file(path) == ["a\nb😀"]
        path.write_text('["u", null]')
        made = options(
            *("--describe", "--entity-type", "users", "--entity-type", "clients", "--entity-name-file", str(path))
        )
        assert made.entity_names == ("u", "")

    @pytest.mark.parametrize("text", ["", "{}", "[]", "7", '[""]', "[1]", '"open'])
    def test_anything_else_is_refused_by_name(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "name.json"
        path.write_text(text)
        with pytest.raises(RefusedError, match=r"name\.json"):
            read_name_file(path)

    def test_a_missing_file_is_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(RefusedError, match=r"nowhere\.json: No such file"):
            read_name_file(tmp_path / "nowhere.json")


class TestAddConfig:
    @pytest.mark.parametrize(
        ("text", "configs"),
        [
            ("a=1", {"a": "1"}),
            ("a=1,b=2", {"a": "1", "b": "2"}),
            (" a = 1 ,b=", {"a": "1", "b": ""}),
            ("a=[1,2,3],b=4", {"a": "1,2,3", "b": "4"}),
            ("a=1,", {"a": "1"}),
            ("a=[x=1,y=2]", {"a": "x=1,y=2"}),
            ("SCRAM-SHA-256=[iterations=8192,password=p]", {"SCRAM-SHA-256": "iterations=8192,password=p"}),
            ("a=1,a=2", {"a": "2"}),
            ("a=x[y]z", {"a": "xyz"}),
        ],
    )
    def test_pairs_are_split_outside_brackets(self, text: str, configs: dict[str, str]) -> None:
        assert parse_add_config(text) == configs

    @pytest.mark.parametrize("text", ["a", "a=1=2", "", ",a=1", "a=1,,b=2", "a=1,b"])
    def test_whatever_is_no_pair_is_refused(self, text: str) -> None:
        with pytest.raises(RefusedError, match="requirement failed: Invalid entity config"):
            parse_add_config(text)

    @given(
        st.dictionaries(st.from_regex(r"[a-z.]{1,9}", fullmatch=True), st.from_regex(r"[a-z0-9]{0,9}", fullmatch=True))
    )
    def test_plain_pairs_come_back(self, configs: dict[str, str]) -> None:
        text = ",".join(f"{key}={value}" for key, value in configs.items())
        if configs:
            assert parse_add_config(text) == configs

    def test_a_file_is_read_as_java_reads_it(self, tmp_path: Path) -> None:
        path = tmp_path / "add.properties"
        path.write_text("retention.ms = 5\ncleanup.policy=compact,delete\n")
        made = options("--alter", "--topic", "t", "--add-config-file", str(path), "--delete-config", "x, y,,z")
        assert made.add == {"retention.ms": "5", "cleanup.policy": "compact,delete"}
        assert made.delete == ("x", "y", "z")

    def test_values_do_not_show(self) -> None:
        assert "hush" not in repr(options("--alter", "--topic", "t", "--add-config", "a=hush"))


ALTER_TOPIC = (*SERVER, "--alter", "--topic", "t")
ALTER_USER_AND_CLIENT = (*SERVER, "--alter", "--entity-type", "users", "--entity-type", "clients")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*SERVER, "--alter", "--describe"), "Command must include exactly one action: --describe, --alter"),
        (SERVER, "Command must include exactly one action: --describe, --alter"),
        (
            (*SERVER, "--describe", "--topic", "t", "--add-config", "a=b"),
            'Option "[describe]" can\'t be used with option "[add-config]"',
        ),
        (
            (*SERVER, "--describe", "--entity-type", "topics", "--entity-type", "topics"),
            "Duplicate entity type(s) specified: topics",
        ),
        (
            ("--describe", "--entity-type", "topics"),
            "Either --bootstrap-server or --bootstrap-controller must be specified.",
        ),
        ((*SERVER, "--describe"), "At least one entity type must be specified"),
        (
            (*SERVER, "--describe", "--topic", "t", "--user", "u"),
            "Only 'users' and 'clients' entity types may be specified together",
        ),
        (
            (*SERVER, "--describe", "--user", "u", "--entity-type", "clients"),
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags",
        ),
        (
            (*SERVER, "--bootstrap-controller", "h:2", "--describe", "--topic", "t"),
            "Only one of --bootstrap-server or --bootstrap-controller can be specified",
        ),
        (
            (*SERVER, "--describe", "--broker", "one"),
            "The entity name for brokers must be a valid integer broker id, but it is: one",
        ),
        (
            (*SERVER, "--describe", "--ip", "no such host!"),
            "The entity name for ips must be a valid IP or resolvable host, but it is: no such host!",
        ),
        (
            (*SERVER, "--describe", "--entity-type", "topics", "--entity-default"),
            "--entity-default must not be specified with --describe of topics",
        ),
        (
            (*SERVER, "--describe", "--entity-type", "broker-loggers"),
            "An entity name must be specified with --describe of broker-loggers",
        ),
        (
            (*SERVER, "--alter", "--entity-type", "users", "--add-config", "a=b"),
            "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips",
        ),
        (
            (*SERVER, "--alter", "--entity-type", "topics", "--add-config", "a=b"),
            "An entity name must be specified with --alter of topics",
        ),
        (
            (*ALTER_TOPIC, "--add-config", "a=b", "--add-config-file", "x"),
            "Only one of --add-config or --add-config-file must be specified",
        ),
        (
            ALTER_TOPIC,
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter",
        ),
        (
            (*SERVER, "--alter", "--user", "u", "--client-defaults", "--user-defaults", "--add-config", "a=b"),
            "Duplicate entity type(s) specified: users",
        ),
        (
            (*ALTER_USER_AND_CLIENT, "--entity-name", "u", "--add-config", "producer_byte_rate=1"),
            "An entity name must be specified for every entity type",
        ),
        ((*ALTER_TOPIC, "--add-config", "a b=c"), "Invalid character found for config key: a b"),
        ((*SERVER, "--describe", "--topic", "t", "--dry-run"), "--dry-run goes with --alter only"),
        ((*SERVER, "--describe", "--topic", "t", "--format", "xml"), "--format must be one of text, json, not 'xml'"),
        ((*SERVER, "--verify", "--topic", "t"), "--verify looks at all brokers; it can't be used with --topic"),
        (
            ("--bootstrap-controller", "h:1", "--verify"),
            "--verify needs --bootstrap-server: only brokers tell their static configs.",
        ),
    ],
)
def test_refuses(words: tuple[str, ...], message: str) -> None:
    assert refusal(*words) == message


def test_verify_takes_both_kinds_of_addresses() -> None:
    made = options("--verify", "--bootstrap-controller", "h:2")
    assert (made.action, made.bootstrap_server, made.bootstrap_controller) == ("verify", "h:1", "h:2")
