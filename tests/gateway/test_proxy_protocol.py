"""PROXY protocol headers, version 2."""

from __future__ import annotations

import ipaddress

import pytest

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.proxy_protocol import FIXED_BYTES, SIGNATURE, rest_size, source_of

LOCAL, PROXY = 0x20, 0x21
INET, INET6, UNIX = 0x11, 0x21, 0x31


def header(source: str, port: int, *, command: int = PROXY, notes: bytes = b"") -> bytes:
    """A header for a client at this address."""
    address = ipaddress.ip_address(source)
    family = INET if address.version == 4 else INET6
    there = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1").packed
    rest = address.packed + there + port.to_bytes(2, "big") + (9092).to_bytes(2, "big") + notes
    return SIGNATURE + bytes([command, family]) + len(rest).to_bytes(2, "big") + rest


@pytest.mark.parametrize("source", ["10.1.2.3", "2001:db8::1"])
@pytest.mark.parametrize("notes", [b"", b"\x03\x00\x04abcd"])
def test_reads_the_clients_address(source: str, notes: bytes) -> None:
    data = header(source, 4711, notes=notes)
    assert rest_size(data[:FIXED_BYTES]) == len(data) - FIXED_BYTES
    assert source_of(data[:FIXED_BYTES], data[FIXED_BYTES:]) == (source, 4711)


def test_the_load_balancer_may_speak_for_itself() -> None:
    data = header("10.1.2.3", 4711, command=LOCAL)
    assert source_of(data[:FIXED_BYTES], data[FIXED_BYTES:]) is None
    bare = SIGNATURE + bytes([LOCAL, 0, 0, 0])
    assert rest_size(bare) == 0
    assert source_of(bare, b"") is None


def test_other_families_name_nobody() -> None:
    fixed = SIGNATURE + bytes([PROXY, UNIX]) + (216).to_bytes(2, "big")
    assert source_of(fixed, bytes(216)) is None


@pytest.mark.parametrize(
    "fixed",
    [
        b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"[:FIXED_BYTES],
        bytes(FIXED_BYTES),
        SIGNATURE + bytes([0x11, INET, 0, 12]),
        SIGNATURE + bytes([0x22, INET, 0, 12]),
        SIGNATURE + bytes([PROXY, INET, 0xFF, 0xFF]),
    ],
)
def test_anything_else_is_refused(fixed: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        rest_size(fixed)


def test_addresses_that_are_cut_off_are_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        source_of(SIGNATURE + bytes([PROXY, INET, 0, 11]), bytes(11))
