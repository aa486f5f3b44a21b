"""Random clients, leaders, restarts and clocks against one coordinator, and what must hold whatever they do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, B0, NAME, OFFSETS, Ledger, producer

from doorkeeper.cluster.transactions.messages import NONE, TopicPartition, TxnMarker
from doorkeeper.cluster.transactions.metadata import EPOCH_MAX, LAST_CLIENT_EPOCH, TransactionMetadata
from doorkeeper.cluster.transactions.records import from_value
from doorkeeper.cluster.transactions.settings import TransactionSettings
from doorkeeper.cluster.transactions.states import TransactionState

PARTITIONS = [A0, A1, B0, OFFSETS]
CODES = st.sampled_from([NONE, NONE, NONE, ErrorCode.network_exception, ErrorCode.not_leader_or_follower])
Producer = tuple[int, int]
ENDS = {2: 4, 3: 5}
"""States in the log that decide an end, and those that say that it is carried out."""
WHO = st.sampled_from([0, 0, 0, 1, 2, 4])
"""How long ago a producer got its id: 0 is the newest."""


class Transactions(RuleBasedStateMachine):
    """One transactional id. `producers` are those that clients were told they are, the newest last."""

    @initialize(transaction_version=st.sampled_from([1, 2]))
    def begin(self, transaction_version: int) -> None:
        quick = TransactionSettings(abort_interval_ms=10, expiration_interval_ms=10, id_expiration_ms=50_000)
        self.ledger = Ledger(transaction_version=transaction_version, settings=quick)
        self.producers: list[Producer] = [producer(self.ledger.init())]
        self.fenced: set[Producer] = set()
        self.written: dict[tuple[int, int], list[tuple[TopicPartition, bool]]] = defaultdict(list)
        """Markers that are in partitions, by the place of the decision in the log and the coordinator's epoch."""
        self.highest_epoch: dict[int, int] = {}
        self.seen: TransactionMetadata | None = None

    def who(self, ago: int) -> Producer:
        return self.producers[max(0, len(self.producers) - 1 - ago)]

    def note_producer(self, response: Any) -> None:
        """A new producer came: whoever was told of an id before must not succeed any more."""
        told = (response.producer_id, response.producer_epoch)
        if response.error_code is NONE and told[0] >= 0 and told != self.producers[-1]:
            self.producers.append(told)

    # --- clients ---

    @rule()
    def init_anew(self) -> None:
        before = set(self.producers)
        response = self.ledger.init()
        if response.error_code is NONE:
            told = (response.producer_id, response.producer_epoch)
            assert told not in before, "a new producer has the epoch of another"
            self.fenced |= before
            self.note_producer(response)

    @rule(ago=WHO)
    def init_again(self, ago: int) -> None:
        was_fenced = self.who(ago) in self.fenced
        response = self.ledger.init(*self.who(ago))
        if was_fenced and NAME in self.ledger.coordinator.state.transactions and response.error_code is NONE:
            # Only an id that was forgotten lets a stranger in, with a producer id that nobody had.
            assert (response.producer_id, response.producer_epoch) not in self.producers
        self.note_producer(response)

    @rule(ago=WHO, partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1, max_size=3))
    def add(self, ago: int, partitions: set[TopicPartition]) -> None:
        who = self.who(ago)
        code = self.ledger.add(*who, *partitions)
        if code is NONE:
            assert who not in self.fenced
            assert who == self.ledger.producer
            assert partitions <= self.ledger.metadata.partitions

    @rule(ago=WHO, partition=st.sampled_from(PARTITIONS))
    def verify(self, ago: int, partition: TopicPartition) -> None:
        who = self.who(ago)
        written = len(self.ledger.log)
        if self.ledger.verify(*who, partition)[partition] is NONE:
            assert who not in self.fenced
            assert (who, self.ledger.state) == (self.ledger.producer, "Ongoing")
        assert len(self.ledger.log) == written

    @rule(ago=WHO, commit=st.booleans())
    def end(self, ago: int, commit: bool) -> None:
        who = self.who(ago)
        before = self.ledger.coordinator.state.transactions.get(NAME)
        response = self.ledger.end(*who, commit=commit)
        if response.error_code is not NONE:
            return
        assert who not in self.fenced
        assert before is not None
        if self.ledger.transaction_version == 2:
            assert (response.producer_id, response.producer_epoch) != who, "the next transaction has the same epoch"
        if commit and before.state is not TransactionState.ONGOING:
            assert before.state is TransactionState.COMPLETE_COMMIT, "a commit of what was not committed is granted"
        self.note_producer(response)

    # --- leaders ---

    @precondition(lambda self: self.ledger.markers)
    @rule(data=st.data())
    def answer_a_marker(self, data: st.DataObject) -> None:
        """Some leaders answer their part of a marker; the rest of it is still under way."""
        number = data.draw(st.integers(0, len(self.ledger.markers) - 1))
        marker = self.ledger.markers.pop(number)
        part = data.draw(st.lists(st.sampled_from(marker.partitions), min_size=1, unique=True))
        rest = tuple(one for one in marker.partitions if one not in part)
        if rest:
            self.ledger.markers.append(replace(marker, partitions=rest))
        outcomes = {one: data.draw(CODES) for one in part}
        self.write(marker, outcomes)
        mine = replace(marker, partitions=tuple(part))
        self.ledger.take(self.ledger.coordinator.markers_written(mine, outcomes, self.ledger.now_ms))
        if data.draw(st.booleans()):  # an answer may come twice
            self.ledger.take(self.ledger.coordinator.markers_written(mine, outcomes, self.ledger.now_ms))

    def write(self, marker: TxnMarker, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        decided = len(self.ledger.log) - 1
        written = self.written[decided, marker.coordinator_epoch]
        written.extend((one, marker.committed) for one, code in outcomes.items() if code is NONE)

    # --- the world ---

    @rule(ms=st.sampled_from([1, 99, 100, 5_000, 60_001, 200_000]))
    def wait(self, ms: int) -> None:
        self.ledger.pass_time(self.ledger.now_ms + ms)

    @rule()
    def restart(self) -> None:
        self.ledger.restart()

    @rule()
    def run_out_of_epochs(self) -> None:
        """As if many transactions had gone by; only where nobody could tell."""
        known = self.ledger.coordinator.state.transactions.get(NAME)
        if known is None or known.state is not TransactionState.EMPTY or known.producer_epoch >= LAST_CLIENT_EPOCH - 2:
            return
        self.ledger.at_epoch(LAST_CLIENT_EPOCH - 2)
        self.fenced |= set(self.producers)
        self.producers.append(self.ledger.producer)

    # --- what must hold ---

    @invariant()
    def epochs_of_a_producer_id_never_fall(self) -> None:
        known = self.ledger.coordinator.state.transactions.get(NAME)
        if known is None:
            return
        assert 0 <= known.producer_epoch <= EPOCH_MAX
        assert known.producer_epoch >= self.highest_epoch.get(known.producer_id, 0)
        self.highest_epoch[known.producer_id] = known.producer_epoch

    @invariant()
    def an_outcome_never_changes(self) -> None:
        former, self.seen = self.seen, self.ledger.coordinator.state.transactions.get(NAME)
        if self.seen is None or not self.seen.state.is_ending:
            return
        name = (self.seen.producer_id, self.seen.producer_epoch)
        committed = self.seen.state is TransactionState.PREPARE_COMMIT
        if former is not None and former.state.is_ending:
            assert (former.producer_id, former.producer_epoch, former.state) == (*name, self.seen.state)
        for marker in self.ledger.markers:
            assert (marker.producer_id, marker.producer_epoch, marker.committed) == (*name, committed)

    @invariant()
    def every_marker_is_written_or_on_its_way(self) -> None:
        known = self.ledger.coordinator.state.transactions.get(NAME)
        under_way = {one for marker in self.ledger.markers for one in marker.partitions}
        waiting = self.ledger.coordinator.state.markers_to_retry.get(NAME, set())
        if known is not None and known.state.is_ending:
            assert under_way | waiting == known.partitions
            assert known.partitions, "all markers are written, and the transaction is not over"
        else:
            assert not under_way | waiting

    def teardown(self) -> None:
        """Each coordinator wrote a marker once, and a complete transaction has its outcome in all of its partitions."""
        values = self.ledger.values_in_log()
        for place, (value, following) in enumerate(pairwise(values)):
            if value is None or value.transaction_status not in ENDS:
                continue
            committed = value.transaction_status == TransactionState.PREPARE_COMMIT.id
            by_coordinator = [markers for (decided, _), markers in self.written.items() if decided == place]
            for markers in by_coordinator:
                assert len(markers) == len(set(markers)), "a marker was written twice"
            touched = from_value(NAME, value).partitions
            assert following is not None
            assert following.transaction_status == ENDS[value.transaction_status]
            assert {one for markers in by_coordinator for one in markers} == {(one, committed) for one in touched}

    @invariant()
    def the_log_brings_the_same_state_back(self) -> None:
        known = self.ledger.coordinator.state.transactions
        other = Ledger(
            transaction_version=self.ledger.transaction_version, log=list(self.ledger.log), now_ms=self.ledger.now_ms
        )
        again = other.coordinator.state.transactions
        assert again.keys() == known.keys()
        for name, metadata in known.items():
            if metadata.state.is_ending:
                assert again[name].partitions >= metadata.partitions
            expected = replace(metadata, last_producer_epoch=-1, partitions=again[name].partitions)
            assert again[name] == expected


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
