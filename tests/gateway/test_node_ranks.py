"""Ports of nodes: by the order in which they were first seen, remembered, shared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doorkeeper.errors import InputError, StorageError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.node_ranks import NodePorts, PortRange, PortsExhaustedError

RANGE = PortRange(20000, 20001)


def ports(path: Path | None, given: PortRange | None = RANGE) -> NodePorts:
    return NodePorts(NodeKind.BROKER, path, given, "--node-ports")


def never(port: int) -> bool:
    raise AssertionError("a range is ours: nobody asks whether a port is free")


def test_nodes_get_ports_in_the_order_in_which_they_are_seen() -> None:
    mine = ports(None)
    assert [mine.assign(one, 9092, never) for one in (7, 3, 7)] == [20000, 20001, 20000]


def test_an_exhausted_range_is_an_error_that_names_it() -> None:
    mine = ports(None)
    mine.assign(1, 9092, never)
    mine.assign(2, 9092, never)
    with pytest.raises(
        PortsExhaustedError, match=r"--node-ports 20000-20001 has no port left for broker 3: 2 are taken"
    ):
        mine.assign(3, 9092, never)


def test_ports_are_remembered(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ports.json"
    ports(path).assign(7, 9092, never)
    assert ports(path).assign(3, 9092, never) == 20001
    assert ports(path).assign(7, 9092, never) == 20000
    assert json.loads(path.read_text()) == {"version": 1, "ports": {"broker 20000-20001": {"7": 20000, "3": 20001}}}


def test_workers_see_what_another_has_assigned(tmp_path: Path) -> None:
    one, other = ports(tmp_path / "ports.json"), ports(tmp_path / "ports.json")
    assert (one.assign(1, 9092, never), other.assign(2, 9092, never), one.assign(2, 9092, never)) == (
        20000,
        20001,
        20001,
    )


def test_without_a_range_the_next_free_ports_are_taken() -> None:
    mine = ports(None, None)
    free = {9094, 9096}
    assert [mine.assign(one, 9092, lambda port: port in free) for one in (1, 2)] == [9094, 9096]
    with pytest.raises(PortsExhaustedError, match="after port 9092"):
        mine.assign(3, 9092, lambda port: False)


def test_a_file_that_is_no_map_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.write_text("{")
    with pytest.raises(StorageError, match=r"ports\.json"):
        ports(path).assign(1, 9092, never)


@pytest.mark.parametrize("text", ["", "20000", "20000-", "-1", "20001-20000", "0-1", "1-65536", "a-b"])
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="20000-20099"):
        PortRange.parse(text)


def test_reads_a_range() -> None:
    assert PortRange.parse("20000-20099") == (20000, 20099)
    assert str(PortRange.parse("1-65535")) == "1-65535"
