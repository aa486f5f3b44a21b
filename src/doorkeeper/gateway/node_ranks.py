"""Which port a node has: a map that is kept in a file, so that it stays the same after a restart and for all workers.

{"version": 1, "ports": {"broker": {"1": 20000, "2": 20001}, "controller": {"100": 9200}}}
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from doorkeeper.errors import InputError, StorageError
from doorkeeper.gateway.address_table import NodeKind

FILE_VERSION: Final = 1
MAX_PORT: Final = 65535


class PortRange(NamedTuple):
    """Ports that nodes may have, both ends included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> PortRange:
        """`20000-20099`.

        :raises InputError: when it is none.
        """
        first, dash, last = text.partition("-")
        try:
            made = cls(int(first), int(last))
        except ValueError:
            made = cls(0, 0)
        if not dash or not 0 < made.first <= made.last <= MAX_PORT:
            raise InputError(f"{text!r} is no range of ports: 20000-20099 is one")
        return made

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


class PortsExhaustedError(InputError):
    """There are more nodes than ports."""


class NodePorts:
    """Node ids to ports, of one kind of node. A node gets its port when it is first seen, and keeps it."""

    def __init__(self, kind: NodeKind, path: Path | None, given: PortRange | None, option: str) -> None:
        """:param path: where the map is kept; None: nowhere.
        :param given: the ports to give; None: whatever is free after the listener's own.
        :param option: what to name in the error when they are exhausted.
        """
        self.kind = kind
        self._path = path
        self._given = given
        self._option = option
        self._name = str(kind) if given is None else f"{kind} {given}"
        self._ports: dict[int, int] = {}

    def assign(self, node_id: int, after: int, is_free: Callable[[int], bool]) -> int:
        """The node's port, a new one if it has none.

        :param after: the listener's own port: where the search begins when no range is given.
        :param is_free: asked about ports when no range is given; a range is ours, and its n-th node has its n-th port.
        :raises PortsExhaustedError: when there is none left.
        :raises StorageError: when the map can't be kept.
        """
        port = self._ports.get(node_id)
        if port is not None:
            return port
        if self._path is None:
            return self._choose(node_id, after, is_free)
        with _locked(self._path) as document:
            kept = document.setdefault("ports", {}).setdefault(self._name, {})
            self._ports.update((int(key), int(value)) for key, value in kept.items())
            port = self._ports.get(node_id)
            if port is None:
                port = kept[str(node_id)] = self._choose(node_id, after, is_free)
        return port

    def _choose(self, node_id: int, after: int, is_free: Callable[[int], bool]) -> int:
        taken = set(self._ports.values())
        if self._given is not None:
            candidates = (port for port in range(self._given.first, self._given.last + 1) if port not in taken)
        else:
            candidates = (port for port in range(after + 1, MAX_PORT + 1) if port not in taken and is_free(port))
        port = next(candidates, None)
        if port is None:
            have = f"{self._given} has" if self._given else f"after port {after} there are"
            raise PortsExhaustedError(
                f"{self._option} {have} no port left for {self.kind} {node_id}: {len(taken)} are taken"
            )
        self._ports[node_id] = port
        return port


@contextmanager
def _locked(path: Path) -> Iterator[dict[str, Any]]:
    """The document in the file, under a lock; what has become of it is written when the block ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f"{path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            document: dict[str, Any] = json.loads(text) if text else {"version": FILE_VERSION}
            before = json.dumps(document)
            yield document
            after = json.dumps(document)
            if after != before:
                written = path.with_name(f"{path.name}.new")
                written.write_text(after + "\n", encoding="utf-8")
                os.replace(written, path)
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: the map of node ports can't be kept: {error}") from error
