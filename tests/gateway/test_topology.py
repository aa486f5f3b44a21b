"""Which nodes there are: learnt from all that tells an address, forgotten when they are missing for long."""

from __future__ import annotations

from doorkeeper.errors import InputError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.topology import GONE_AFTER_SURVEYS, HIDDEN, Topology

BROKER, CONTROLLER = NodeKind.BROKER, NodeKind.CONTROLLER
BOTH = [(1, "a", 9092), (2, "b", 9092)]
FIRST_PORT = 20_000


class Doors:
    """Notes what is opened and closed."""

    def __init__(self) -> None:
        self.open: set[tuple[NodeKind, int]] = set()
        self.highest = 99
        self.topology = Topology(self._open, self._close)

    def _open(self, kind: NodeKind, node_id: int) -> tuple[str, int]:
        if node_id > self.highest:
            raise InputError("there is no port left")
        self.open.add((kind, node_id))
        return "", FIRST_PORT + node_id

    def _close(self, kind: NodeKind, node_id: int) -> None:
        self.open.remove((kind, node_id))


def test_a_node_has_one_door_wherever_it_moves() -> None:
    doors = Doors()
    doors.topology.survey(BROKER, BOTH)
    assert doors.topology.learn(BROKER, 1, "elsewhere", 9093) == ("", FIRST_PORT + 1)
    assert doors.open == {(BROKER, 1), (BROKER, 2)}
    assert doors.topology.at(BROKER, "elsewhere", 9093) == doors.topology.find(BROKER, 1)


def test_a_door_closes_when_its_node_is_missing_for_long_and_not_before() -> None:
    doors = Doors()
    doors.topology.survey(BROKER, BOTH)
    for _ in range(GONE_AFTER_SURVEYS - 1):
        doors.topology.survey(BROKER, BOTH[:1])
    assert (BROKER, 2) in doors.open
    doors.topology.survey(BROKER, BOTH[:1])
    assert doors.open == {(BROKER, 1)}
    assert doors.topology.find(BROKER, 2) is None


def test_who_comes_back_in_time_is_counted_anew() -> None:
    doors = Doors()
    doors.topology.survey(BROKER, BOTH)
    for nodes in (BOTH[:1], BOTH, BOTH[:1]):
        for _ in range(GONE_AFTER_SURVEYS - 1):
            doors.topology.survey(BROKER, nodes)
    assert (BROKER, 2) in doors.open


def test_who_comes_back_later_has_a_door_again() -> None:
    doors = Doors()
    doors.topology.survey(BROKER, BOTH)
    for _ in range(GONE_AFTER_SURVEYS):
        doors.topology.survey(BROKER, BOTH[:1])
    assert doors.topology.learn(BROKER, 2, "b", 9092) == ("", FIRST_PORT + 2)
    assert (BROKER, 2) in doors.open


def test_brokers_that_are_missing_say_nothing_about_controllers() -> None:
    doors = Doors()
    doors.topology.survey(CONTROLLER, BOTH)
    for _ in range(GONE_AFTER_SURVEYS):
        doors.topology.survey(BROKER, BOTH[:1])
    assert (CONTROLLER, 2) in doors.open


def test_a_node_without_a_door_is_hidden_and_its_fault_kept() -> None:
    doors = Doors()
    assert doors.topology.learn(BROKER, 100, "c", 9092) == HIDDEN
    doors.topology.survey(BROKER, BOTH)
    assert list(doors.topology.unreachable) == [(BROKER, 100)]


def test_a_node_that_has_a_door_after_all_is_not_called_unreachable() -> None:
    doors = Doors()
    doors.topology.survey(BROKER, [*BOTH, (100, "c", 9092)])
    doors.highest = 100
    doors.topology.survey(BROKER, [*BOTH, (100, "c", 9092)])
    assert doors.topology.learn(BROKER, 100, "c", 9092) == ("", FIRST_PORT + 100)
    assert not doors.topology.unreachable
